import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Lets a thread of its own do what would keep this one from serving others. It answers once; `signal` gives it up. */
export async function askThread<Answer>(file: URL, question: unknown, signal?: AbortSignal): Promise<Answer> {
  // Nothing of how this process was started is for it: a preloaded tracer, or the tests' way to find the sources.
  const thread = new Worker(file, { workerData: question, execArgv: [] });
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
