import { once } from "node:events";
import { type ResourceLimits, Worker } from "node:worker_threads";
import { inTurns, type Work } from "./cooperative-work.ts";

/** A piece of a long text. Bytes are moved to the thread rather than copied. */
export type ThreadPart = string | ArrayBuffer;

/** What a thread answers: a short message, and whatever may be long in parts. */
export interface ThreadAnswer<Answer> {
  readonly answer: Answer;
  readonly parts: readonly string[];
}

/** The first message of a thread. The parts follow, each when it is asked for. */
export interface ThreadAnswerHead<Answer> {
  readonly answer: Answer;
  readonly parts: number;
}

/** Follows the last part that is sent to a thread. */
export const NO_MORE_PARTS = null;
/** Asks a thread for the next part of its answer. */
export const NEXT_PART = null;

export interface AskThreadOptions {
  /** What may be long, in parts: a message is copied in one go, and 20 MB would block this thread for 50 ms. */
  readonly parts?: Iterable<ThreadPart>;
  /** Ends the thread. */
  readonly signal?: AbortSignal | undefined;
  /** A thread that needs more fails with ERR_WORKER_OUT_OF_MEMORY; the process goes on. */
  readonly limits?: ResourceLimits;
}

/**
 * Has a thread of its own do work that would block the event loop of this one. `question` is short. The thread answers
 * once, through `answerParent`.
 */
export async function askThread<Answer>(
  file: URL,
  question: unknown,
  { parts = [], signal, limits = {} }: AskThreadOptions = {},
): Promise<ThreadAnswer<Answer>> {
  signal?.throwIfAborted();
  // Nothing of how this process was started is for it: a preloaded tracer, or the tests' way to find the sources.
  const thread = new Worker(file, { workerData: question, execArgv: [], resourceLimits: limits });
  try {
    const ended = once(thread, "exit", { signal }).then(() => {
      throw new Error("the thread has ended without an answer");
    });
    // Whichever comes second is of no interest.
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
