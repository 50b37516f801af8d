// One of the processes that share a limit.
import { once } from "node:events";
import type { Call, Orders } from "./orders.ts";
import type { Subject } from "./subject.ts";
import { subjectOf } from "./subjects.ts";

/** Calls of a burst that one process has in flight. */
const IN_FLIGHT = 64;

// Exit when the measuring process is killed.
process.once("disconnect", () => process.exit());

const orders: Orders = JSON.parse(process.argv[2] ?? "{}");
const subject = await subjectOf(orders.subject).open(orders.place);
process.send?.("ready");
await once(process, "message");
const calls = orders.kind === "burst" ? await burst(subject, orders.requests) : await steady(subject, orders);
process.send?.(calls, () => process.exit());

async function call(subject: Subject): Promise<Call> {
  const at = Date.now();
  const start = performance.now();
  const done = (result: Call["result"]): Call => ({ at, tookMs: performance.now() - start, result });
  try {
    return done((await subject.check()) ? "admitted" : "denied");
  } catch {
    return done("error");
  }
}

/** So many calls, as fast as they are answered. */
async function burst(subject: Subject, requests: number): Promise<Call[]> {
  const calls: Call[] = [];
  let left = requests;
  const caller = async (): Promise<void> => {
    for (; left > 0; ) {
      left -= 1;
      calls.push(await call(subject));
      // Checks that are answered at once must not keep the process from anything else.
      if (left % IN_FLIGHT === 0) await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  return calls;
}

/** Calls at a constant rate, whether or not the earlier ones have been answered. */
async function steady(subject: Subject, { perSecond, forMs }: { perSecond: number; forMs: number }): Promise<Call[]> {
  const calls: Call[] = [];
  const start = performance.now();
  const waiting = new Map<number, number>();
  for (let i = 0; i < (forMs / 1_000) * perSecond; i += 1) {
    const due = start + (i * 1_000) / perSecond;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    waiting.set(i, Date.now());
    void call(subject).then((made) => {
      waiting.delete(i);
      calls.push(made);
    });
  }
  for (let i = 0; waiting.size > 0 && i < 40; i += 1) await new Promise((resolve) => setTimeout(resolve, 50));
  // What has not been answered by now was given ample time.
  const unanswered = [...waiting.values()].map((at): Call => ({ at, tookMs: Date.now() - at, result: "unanswered" }));
  return [...calls, ...unanswered];
}
