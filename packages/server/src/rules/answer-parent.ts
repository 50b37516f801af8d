import { on } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { NO_MORE_PARTS, type ThreadAnswer, type ThreadAnswerHead, type ThreadPart } from "./worker-call.ts";

/** Counterpart of `askThread`, run in the worker thread: answers once. Errors thrown by `respond` end the thread. */
export async function answerParent<Question, Answer>(
  respond: (question: Question, parts: readonly ThreadPart[]) => ThreadAnswer<Answer> | Promise<ThreadAnswer<Answer>>,
): Promise<void> {
  if (parentPort === null) throw new Error("this file runs in a thread");
  const messages = on(parentPort, "message");
  const nextMessage = async (): Promise<ThreadPart | null> => (await messages.next()).value[0];
  const given: ThreadPart[] = [];
  for (;;) {
    const part = await nextMessage();
    if (part === NO_MORE_PARTS) break;
    given.push(part);
  }
  const { answer, parts } = await respond(workerData, given);
  const head: ThreadAnswerHead<Answer> = { answer, parts: parts.length };
  parentPort.postMessage(head);
  // One at a time on request: all messages that have arrived are read in one turn of the parent's event loop.
  for (const part of parts) {
    await nextMessage();
    parentPort.postMessage(part);
  }
}
