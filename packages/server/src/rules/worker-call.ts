import { once } from "node:events";
import { type ResourceLimits, Worker } from "node:worker_threads";
import { inTurns, type Work } from "./cooperative-work.ts";

/** A part of a long text. Bytes are transferred to the thread instead of copied. */
export type ThreadPart = string | ArrayBuffer;

/** The answer of a thread: a short message, and long data in parts. */
export interface ThreadAnswer<Answer> {
  readonly answer: Answer;
  readonly parts: readonly string[];
}

/** The first message of a thread. The parts follow on request. */
export interface ThreadAnswerHead<Answer> {
  readonly answer: Answer;
  readonly parts: number;
}

/** Follows the last part that is sent to a thread. */
export const NO_MORE_PARTS = null;
/** Asks a thread for the next part of its answer. */
export const NEXT_PART = null;

export interface AskThreadOptions {
  /** Long data in parts: a message is copied at once, and 20 MB would block this thread for 50 ms. */
  readonly parts?: Iterable<ThreadPart>;
  /** Ends the thread. */
  readonly signal?: AbortSignal | undefined;
  /** A thread that needs more fails with ERR_WORKER_OUT_OF_MEMORY; the process continues. */
  readonly limits?: ResourceLimits;
}

/**
 * Runs work in another thread that would block the event loop of this one. `question` must be short. The thread answers
 * once, with `answerParent`.
 */
export async function askThread<Answer>(
  file: URL,
  question: unknown,
  { parts = [], signal, limits = {} }: AskThreadOptions = {},
): Promise<ThreadAnswer<Answer>> {
  signal?.throwIfAborted();
  // Options of this process do not apply to it, such as a preloaded tracer or the tests' resolution of sources.
  const thread = new Worker(file, { workerData: question, execArgv: [], resourceLimits: limits });
  try {
    const ended = once(thread, "exit", { signal }).then(() => {
      throw new Error("the thread has ended without an answer");
    });
    // Whichever comes second is ignored.
    ended.catch(() => {});
    const nextMessage = async () => (await Promise.race([once(thread, "message", { signal }), ended]))[0];
    const first: Promise<ThreadAnswerHead<Answer>> = nextMessage();
    // It may fail while parts are being sent.
    first.catch(() => {});
    await inTurns(sending(thread, parts));
    const { answer, parts: count } = await first;
    const received: string[] = [];
    while (received.length < count) {
      thread.postMessage(NEXT_PART);
      received.push(await nextMessage());
    }
    return { answer, parts: received };
  } finally {
    await thread.terminate();
  }
}

function* sending(thread: Worker, parts: Iterable<ThreadPart>): Work<void> {
  for (const part of parts) {
    thread.postMessage(part, typeof part === "string" ? [] : [part]);
    yield;
  }
  thread.postMessage(NO_MORE_PARTS);
}
