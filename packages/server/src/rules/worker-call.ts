import { once } from "node:events";
import { type ResourceLimits, Worker } from "node:worker_threads";

export interface AskThreadOptions {
  /** Ends the thread, which nobody waits for any more. */
  readonly signal?: AbortSignal | undefined;
  /** A thread that needs more fails with ERR_WORKER_OUT_OF_MEMORY; the process goes on. */
  readonly limits?: ResourceLimits;
}

/** Lets a thread of its own do what would keep this one from serving others. It answers once. */
export async function askThread<Answer>(
  file: URL,
  question: unknown,
  { signal, limits = {} }: AskThreadOptions = {},
): Promise<Answer> {
  signal?.throwIfAborted();
  // Nothing of how this process was started is for it: a preloaded tracer, or the tests' way to find the sources.
  const thread = new Worker(file, { workerData: question, execArgv: [], resourceLimits: limits });
  try {
    const ended = once(thread, "exit", { signal }).then(() => {
      throw new Error("the thread has ended without an answer");
    });
    // Whichever comes second is of no interest.
    ended.catch(() => {});
    const [answer] = await Promise.race([once(thread, "message", { signal }), ended]);
    return answer;
  } finally {
    await thread.terminate();
  }
}
