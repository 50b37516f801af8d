import { describe, expect, it } from "vitest";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import { concurrency, fixedWindow, type Limiter, rateLimiter, StoreError } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { slots: concurrency(2), tokens: fixedWindow("100/d") };
const key = "team";
const down = new StoreError("HG_STORE_UNREACHABLE", "is gone");

/** A task that runs until it is asked to end. */
function task() {
  let end = (_value: string): void => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  let signal: AbortSignal | undefined;
  const run = (given: AbortSignal): Promise<string> => {
    signal = given;
    return ended;
  };
  return { run, end, signal: () => signal };
}

class World {
  readonly clock = new ManualClock(86_400_000);
  readonly store = new SharedStore(this.clock);
  private readonly processes = new Map<Limiter<typeof rules>, ManualClock>();

  start(): Limiter<typeof rules> {
    const clock = new ManualClock(this.clock.now() / 1000);
    const limiter = rateLimiter(rules, { store: this.store, clock });
    this.processes.set(limiter, clock);
    limiter.reservation("none").catch(() => {});
    return limiter;
  }

  /** Returns a function that resumes it. */
  stop(limiter: Limiter<typeof rules>): () => void {
    const clock = this.processes.get(limiter);
    this.processes.delete(limiter);
    return () => {
      if (clock !== undefined) this.processes.set(limiter, clock);
    };
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await this.clock.advance(500);
      for (const clock of this.processes.values()) await clock.advance(500);
    }
  }

  async inUse(): Promise<number | undefined> {
    const [{ inUse }] = await this.store.apply("peek", [{ rule: { name: "slots", limit: rules.slots }, key, cost: 0 }]);
    return inUse;
  }
}

describe("run", () => {
  it("runs as many tasks as there are slots, and returns a slot when its task has ended", async () => {
    const { limiter } = testLimiter(rules);
    const [one, two] = [task(), task()];
    const running = [one, two].map(({ run }) => limiter.run("slots", key, run));
    expect(await limiter.run("slots", key, () => "third")).toMatchObject({
      ran: false,
      decision: { allowed: false, rule: "slots", remaining: 0, inUse: 2, retryIsUpperBound: true },
    });
    one.end("done");
    expect(await running[0]).toMatchObject({ ran: true, value: "done", decision: { allowed: true, inUse: 1 } });
    expect(await limiter.run("slots", key, () => "third")).toMatchObject({ ran: true, value: "third" });
    two.end("done");
    await running[1];
    expect((await limiter.peek("slots", key)).inUse).toBe(0);
  });

  it("returns the slot of a task that fails, with its error", async () => {
    const { limiter } = testLimiter(rules);
    const error = new Error("a bug");
    await expect(limiter.run("slots", key, () => Promise.reject(error))).rejects.toBe(error);
    expect((await limiter.peek("slots", key)).inUse).toBe(0);
  });

  it("waits in line for a slot, first come first served", async () => {
    const { limiter, clock } = testLimiter(rules);
    const [one, two] = [task(), task()];
    for (const { run } of [one, two]) void limiter.run("slots", key, run);
    const order: number[] = [];
    const waiting = [1, 2, 3].map((place) => {
      return limiter.run("slots", key, () => order.push(place), { maxWaitMs: 60_000 });
    });
    await clock.advance(10);
    expect(order).toEqual([]);
    one.end("done");
    const results = await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
    expect(results[0].decision.queued).toBe(1);
    two.end("done");
  });

  it("gives up after maxWaitMs", async () => {
    const { limiter, clock } = testLimiter(rules);
    for (let i = 0; i < 2; i += 1) void limiter.run("slots", key, task().run);
    const waiting = [1, 2].map(() => limiter.run("slots", key, () => 1, { maxWaitMs: 5_000 }));
    await clock.advance(4_999);
    await clock.advance(1);
    expect((await Promise.all(waiting)).map(({ ran }) => ran)).toEqual([false, false]);
  });

  it("does not run a task whose time is up while others are ahead, even if they have just left", async () => {
    const world = new World();
    const limiter = world.start();
    const tasks = [task(), task()];
    for (const { run } of tasks) void limiter.run("slots", key, run);
    await world.pass(500);
    const ran: string[] = [];
    const patient = limiter.run("slots", key, () => ran.push("patient"), { maxWaitMs: 60_000 });
    const hasty = limiter.run("slots", key, () => ran.push("hasty"), { maxWaitMs: 500 });
    let answer = (): void => {};
    world.store.gated = ["peek"];
    world.store.gate = new Promise((resolve) => (answer = resolve));
    await world.pass(1_000);
    for (const { end } of tasks) end("done");
    await patient;
    answer();
    expect((await hasty).ran).toBe(false);
    expect(ran).toEqual(["patient"]);
  });

  it("keeps the slot of a long task", async () => {
    const { limiter, clock } = testLimiter(rules);
    const long = task();
    const running = limiter.run("slots", key, long.run, { forMs: 5_000 });
    await clock.advance(600_000);
    expect((await limiter.peek("slots", key)).inUse).toBe(1);
    expect(long.signal()?.aborted).toBe(false);
    long.end("done");
    await running;
  });

  it("passes on the signal of the caller", async () => {
    const { limiter } = testLimiter(rules);
    const controller = new AbortController();
    const running = limiter.run(
      "slots",
      key,
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
      { signal: controller.signal },
    );
    await Promise.resolve();
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 5);
    await expect(running).rejects.toBe(reason);
    expect((await limiter.peek("slots", key)).inUse).toBe(0);
  });

  it.each<[string, string, { readonly task?: () => number; readonly options?: object }]>([
    ["HG_BAD_OPTION", "task", { task: "x" as never }],
    ["HG_BAD_OPTION", "forMs", { options: { forMs: 5 } }],
    ["HG_BAD_OPTION", "options.wait", { options: { wait: 5 } as never }],
    ["HG_BAD_COST", "cost", { options: { cost: 3 } }],
  ])("fails with %s at %s", async (code, field, { task = () => 1, options = {} }) => {
    const { limiter } = testLimiter(rules);
    await expect(limiter.run("slots", key, task, options)).rejects.toThrow(expect.objectContaining({ code, field }));
  });
});

describe("reservations of a process that died", () => {
  it("are cleaned up in parallel, while others are still extended", async () => {
    const world = new World();
    const [dying, living] = [world.start(), world.start()];
    const reserve = (limiter: typeof dying, own: string) =>
      limiter.reserve([{ rule: "tokens", key: own, cost: 1 }], { forMs: 5_000 });
    for (let i = 0; i < 50; i += 1) await reserve(dying, `key ${i}`);
    const { signal, id } = await reserve(living, key);
    world.stop(dying);
    world.store.gate = new Promise(() => {});
    await world.pass(30_000);
    expect(world.store.actions.filter((action) => action === "settle").length).toBeGreaterThan(1);
    expect(signal.aborted).toBe(false);
    expect((await world.store.journal.find(id))?.deadline).toBeGreaterThan(world.clock.now());
  });
});

describe("a reservation with a slot", () => {
  it("takes slot and quota together or not at all, and returns the slot when it is settled", async () => {
    const { limiter } = testLimiter(rules);
    const checks = [
      { rule: "slots", key },
      { rule: "tokens", key, cost: 60 },
    ] as const;
    const first = await limiter.reserve(checks);
    const second = await limiter.reserve(checks);
    expect(second.deniedBy).toEqual(["tokens"]);
    expect((await limiter.peek("slots", key)).inUse).toBe(1);
    const { decisions } = await first.settle({ tokens: 10 });
    expect(decisions.map(({ rule, inUse, remaining }) => [rule, inUse, remaining])).toEqual([
      ["slots", 0, 2],
      ["tokens", undefined, 90],
    ]);
    await expect(first.settle({ slots: 1 })).rejects.toThrow(expect.objectContaining({ code: "HG_NEEDS_SLOT" }));
  });

  it("cannot spend its slot", async () => {
    const { limiter } = testLimiter(rules);
    const reservation = await limiter.reserve([{ rule: "slots", key }]);
    expect(() => reservation.spend("slots")).toThrow(expect.objectContaining({ code: "HG_NEEDS_SLOT" }));
    await reservation.release();
    expect((await limiter.peek("slots", key)).inUse).toBe(0);
  });

  it("is released in another process by its id", async () => {
    const world = new World();
    const [one, other] = [world.start(), world.start()];
    const { id } = await one.reserve([{ rule: "slots", key }]);
    expect(await world.inUse()).toBe(1);
    await (await other.reservation(id)).release();
    expect(await world.inUse()).toBe(0);
    await world.pass(30_000);
    expect(await world.inUse()).toBe(0);
  });

  it("of a process that died is free when its lease ends", async () => {
    const world = new World();
    const [dying] = [world.start(), world.start()];
    await dying.reserve([{ rule: "slots", key }]);
    void dying.run("slots", key, task().run);
    await world.pass(30_000);
    expect(await world.inUse()).toBe(2);
    world.stop(dying);
    await world.pass(62_000);
    expect(await world.inUse()).toBe(0);
  });

  it("that was lost while its process was frozen aborts the task", async () => {
    const world = new World();
    const [frozen, other] = [world.start(), world.start()];
    const lost = task();
    void frozen.run("slots", key, lost.run, { forMs: 5_000 });
    await world.pass(1_000);
    const resume = world.stop(frozen);
    await world.pass(6_000);
    await Promise.all([1, 2].map(() => other.reserve([{ rule: "slots", key }])));
    resume();
    await world.pass(2_000);
    expect(lost.signal()?.reason).toMatchObject({ code: "HG_RESERVATION_LOST" });
    expect(await world.inUse()).toBe(2);
  });

  it("that is being cleaned up when its process resumes cannot be extended any more", async () => {
    const world = new World();
    const [frozen] = [world.start(), world.start()];
    const { signal } = await frozen.reserve(
      [
        { rule: "slots", key },
        { rule: "tokens", key, cost: 60 },
      ],
      { forMs: 5_000 },
    );
    await world.pass(1_000);
    const resume = world.stop(frozen);
    let open = (): void => {};
    world.store.gate = new Promise((resolve) => (open = resolve));
    // The other process has found it, and its calls are on their way.
    await world.pass(8_000);
    resume();
    await world.pass(2_000);
    open();
    await world.pass(0);
    const [{ remaining }] = await world.store.apply("peek", [
      { rule: { name: "tokens", limit: rules.tokens }, key, cost: 0 },
    ]);
    expect({ aborted: signal.aborted, remaining, inUse: await world.inUse() }).toEqual({
      aborted: true,
      remaining: 100,
      inUse: 0,
    });
  });

  it("keeps its slot until its task is asked to stop, if only its entry in the journal could not be extended", async () => {
    const world = new World();
    const [cleaning, owner] = [world.start(), world.start()];
    const checks = [
      { rule: "slots", key },
      { rule: "tokens", key, cost: 60 },
    ] as const;
    const { signal } = await owner.reserve(checks, { forMs: 20_000 });
    await cleaning.reserve([{ rule: "slots", key }]);
    await world.pass(6_000);
    world.store.journal.failure = down;
    await world.pass(24_000);
    world.store.journal.failure = undefined;
    const kept: boolean[] = [];
    while (!signal.aborted) {
      kept.push((await world.inUse()) === 2);
      await world.pass(500);
    }
    expect(kept.length).toBeGreaterThan(1);
    expect(kept).not.toContain(false);
  });

  it("is lost when its lease ends, also while the store has not answered", async () => {
    const world = new World();
    const limiter = world.start();
    const waiting = task();
    void limiter.run("slots", key, waiting.run, { forMs: 20_000 });
    world.store.gated = ["extend"];
    world.store.gate = new Promise(() => {});
    await world.pass(19_500);
    expect(waiting.signal()?.aborted).toBe(false);
    await world.pass(500);
    expect(waiting.signal()?.reason).toMatchObject({ code: "HG_RESERVATION_LOST" });
  });

  it("that is granted only after its lease has ended is lost from the start", async () => {
    const world = new World();
    const limiter = world.start();
    let open = (): void => {};
    world.store.gated = ["take"];
    world.store.gate = new Promise((resolve) => (open = resolve));
    const reserving = limiter.reserve([{ rule: "slots", key }], { forMs: 5_000 });
    await world.pass(6_000);
    open();
    expect((await reserving).signal.aborted).toBe(true);
  });

  it("is extended with all others in one call, and aborts when the store fails past its lease", async () => {
    const world = new World();
    const limiter = world.start();
    const tasks = [task(), task()];
    for (const { run } of tasks) void limiter.run("slots", key, run);
    await world.pass(20_000);
    world.store.failure = { error: down };
    await world.pass(40_000);
    expect(tasks.map(({ signal }) => signal()?.aborted)).toEqual([false, false]);
    await world.pass(30_000);
    expect(tasks.map(({ signal }) => signal()?.aborted)).toEqual([true, true]);
  });
});
