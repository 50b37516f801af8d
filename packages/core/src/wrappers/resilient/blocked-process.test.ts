import { describe, expect, it } from "vitest";
import { operation } from "../../../test/wrappers/resilient/context.ts";
import { type Answer, resilient, type Store } from "../../index.ts";

const answer: Answer = {
  time: 1_700_000_000_000_000,
  allowed: true,
  remaining: 9,
  retryAfter: 0,
  resetAfter: 1_000_000,
  source: "store",
  degraded: false,
};

/** Nothing else can run meanwhile: as if the process had been stopped. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Turns of the event loop, each with its timers, its I/O and its immediates. */
function turns(count: number, then: () => void): void {
  if (count === 0) then();
  else setImmediate(() => turns(count - 1, then));
}

describe("a process that was held up longer than the deadline", () => {
  it("counts a reply that is already there", async () => {
    // A message of a port is read where replies of servers are: after the timers, and before the immediates.
    const { port1: server, port2: client } = new MessageChannel();
    const store: Store = {
      apply: () => new Promise((resolve) => client.once("message", () => resolve([answer]))),
    };
    const tough = resilient(store, { deadlineMs: 20, onDegraded: () => {} });
    try {
      const answers = tough.apply("take", [operation()]);
      // From an immediate: timers run first when the process resumes.
      setImmediate(() => {
        server.postMessage("reply");
        block(60);
      });
      expect(await answers).toMatchObject([{ source: "store", degraded: false }]);
    } finally {
      server.close();
    }
  });

  it("waits for no reply that is still to come", async () => {
    let reply = (): void => {};
    const store: Store = {
      apply: () =>
        new Promise((resolve) => {
          reply = () => resolve([answer]);
        }),
    };
    const tough = resilient(store, { deadlineMs: 20, onDegraded: () => {} });
    const answers = tough.apply("take", [operation()]);
    block(60);
    turns(50, reply);
    expect(await answers).toMatchObject([{ source: "fallback", degraded: true }]);
  });
});
