import { describe, expect, it, vi } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, type Limit, leakyBucket, rateLimiter } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const TODAY_MS = 1_700_000_000_000.331;

describe("schedule", () => {
  it("runs tasks at a constant rate, in order", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("10/s", { burst: 5 }) }, { startMs: TODAY_MS });
    const ran: [number, number][] = [];
    for (let i = 0; i < 5; i += 1) {
      void limiter.schedule("mail", "k", () => ran.push([i, Math.round(clock.now() - TODAY_MS * 1000)]));
    }
    await clock.advance(10_000);
    expect(ran).toEqual([
      [0, 0],
      [1, 100_000],
      [2, 200_000],
      [3, 300_000],
      [4, 400_000],
    ]);
  });

  it("runs tasks that come at any time at least one interval apart, and none later than its place in the queue", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("10/s", { burst: 5 }) }, { startMs: TODAY_MS });
    const times: number[] = [];
    for (let i = 0; i < 300; i += 1) {
      void limiter.schedule("mail", "k", () => times.push(clock.now()));
      await clock.advance(((i * 7_919) % 99_991) / 500);
    }
    await clock.advance(10_000);
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    expect(times.length).toBeGreaterThan(100);
    expect(Math.min(...gaps)).toBe(100_000);
  });

  it("answers what the task returned, or what its promise gave", async () => {
    const { limiter } = testLimiter({ mail: leakyBucket("10/s") });
    expect(await limiter.schedule("mail", "a", () => 42)).toMatchObject({ ran: true, value: 42 });
    const answer = await limiter.schedule("mail", "b", async () => "sent");
    expect(answer).toMatchObject({ ran: true, value: "sent", decision: { allowed: true, rule: "mail" } });
  });

  it("runs every task, however many come at once: they wait for room in the queue", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("10/s", { burst: 10 }) });
    const ran: [number, number][] = [];
    const asked = Array.from({ length: 25 }, (_, i) =>
      watch(
        clock,
        limiter.schedule("mail", "k", () => ran.push([i, clock.now() / 1000])),
      ),
    );
    await clock.advance(10_000);
    expect(ran).toEqual(Array.from({ length: 25 }, (_, i) => [i, i * 100]));
    expect(asked.map(({ value }) => value?.ran)).toEqual(new Array(25).fill(true));
  });

  it("does not run a task that finds the queue full, if asked to drop it", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const task = vi.fn();
    const asked = [1, 2, 3].map(() => watch(clock, limiter.schedule("mail", "k", task, { whenFull: "drop" })));
    await clock.advance(0);
    expect(asked[2].value).toMatchObject({ ran: false, decision: { allowed: false, retryAfterMs: 1_000 } });
    await clock.advance(10_000);
    expect(task).toHaveBeenCalledTimes(2);
    expect(asked.map(({ value }) => value?.ran)).toEqual([true, true, false]);
  });

  it("drops a task whose turn would come after maxWaitMs, also if there is room", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 5 }) });
    limiter.checkSync("mail", "k", { cost: 3 });
    const options = { whenFull: "drop", maxWaitMs: 2_000 } as const;
    const asked = watch(
      clock,
      limiter.schedule("mail", "k", () => 1, options),
    );
    await clock.advance(0);
    expect(asked.value).toMatchObject({ ran: false, decision: { retryAfterMs: 1_000 } });
  });

  it("does not run a task that never fits into the queue", async () => {
    const { limiter } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const asked = await limiter.schedule("mail", "k", () => 1, { cost: 3 });
    expect(asked).toMatchObject({ ran: false, decision: { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY } });
  });

  it.each(["wait ", "reject", true, null])("refuses whenFull: %j", async (whenFull) => {
    const { limiter } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const asked = limiter.schedule("mail", "k", () => 1, { whenFull: whenFull as "drop" });
    await expect(asked).rejects.toEqual(expect.objectContaining({ code: "HG_BAD_OPTION", field: "whenFull" }));
    expect(limiter.peekSync("mail", "k").remaining).toBe(2);
  });

  it("does not wait for a slow task before it runs the next", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 3 }) });
    const started: number[] = [];
    const slow = (): Promise<void> => {
      started.push(clock.now() / 1000);
      return clock.sleep(10_000);
    };
    for (let i = 0; i < 3; i += 1) void limiter.schedule("mail", "k", slow);
    await clock.advance(5_000);
    expect(started).toEqual([0, 1_000, 2_000]);
  });

  it("takes one place per unit of cost", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 10 }) });
    const times: number[] = [];
    for (const cost of [3, 1, 2]) void limiter.schedule("mail", "k", () => times.push(clock.now() / 1000), { cost });
    await clock.advance(10_000);
    expect(times).toEqual([0, 3_000, 4_000]);
  });

  it("keeps a queue for each key", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const times: [string, number][] = [];
    for (const key of ["a", "b", "a", "b"]) {
      void limiter.schedule("mail", key, () => times.push([key, clock.now() / 1000]));
    }
    await clock.advance(10_000);
    expect(times).toEqual([
      ["a", 0],
      ["b", 0],
      ["a", 1_000],
      ["b", 1_000],
    ]);
  });

  it("works over a store that answers by promises", async () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ mail: leakyBucket("1/s", { burst: 3 }) }, { store: new SlowStore(clock, 5), clock });
    const times: number[] = [];
    for (let i = 0; i < 3; i += 1) void limiter.schedule("mail", "k", () => times.push(clock.now() / 1000));
    await clock.advance(10_000);
    expect(times).toEqual([5, 1_005, 2_005]);
  });
});

describe("a scheduled task that fails", () => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("makes schedule reject with its error, and the queue continues (%s)", async (_how, task: () => unknown) => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 3 }) });
    const first = watch(clock, limiter.schedule("mail", "k", task));
    const second = watch(
      clock,
      limiter.schedule("mail", "k", () => "fine"),
    );
    await clock.advance(5_000);
    expect(first.error).toEqual(new Error("broken"));
    expect(second).toMatchObject({ at: 1_000, value: { ran: true, value: "fine" } });
  });
});

describe("schedule with maxWaitMs", () => {
  it("waits for room in a full queue, in order", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const times: [number, number][] = [];
    for (let i = 0; i < 5; i += 1) {
      const task = (): unknown => times.push([i, clock.now() / 1000]);
      void limiter.schedule("mail", "k", task, { maxWaitMs: 10_000 });
    }
    await clock.advance(10_000);
    expect(times).toEqual([
      [0, 0],
      [1, 1_000],
      [2, 2_000],
      [3, 3_000],
      [4, 4_000],
    ]);
  });

  it("does not run a task whose turn would come later, and takes no place for it", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 5 }) });
    limiter.checkSync("mail", "k", { cost: 3 });
    const task = vi.fn();
    const asked = watch(clock, limiter.schedule("mail", "k", task, { maxWaitMs: 2_000 }));
    await clock.advance(0);
    expect(asked.value).toMatchObject({ ran: false, decision: { allowed: false, remaining: 2, retryAfterMs: 1_000 } });
    expect(limiter.peekSync("mail", "k").remaining).toBe(2);
    await clock.advance(10_000);
    expect(task).not.toHaveBeenCalled();
  });

  it("counts the wait for room and the wait for the turn together", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    limiter.checkSync("mail", "k", { cost: 2 });
    // There is room after one second, and the turn comes one second after that.
    const short = watch(
      clock,
      limiter.schedule("mail", "k", () => 1, { maxWaitMs: 1_999 }),
    );
    await clock.advance(5_000);
    expect(short.value?.ran).toBe(false);
    limiter.checkSync("mail", "k", { cost: 2 });
    const long = watch(
      clock,
      limiter.schedule("mail", "k", () => 1, { maxWaitMs: 2_000 }),
    );
    await clock.advance(5_000);
    expect(long).toMatchObject({ at: 7_000, value: { ran: true } });
  });
});

describe("a scheduled task whose signal aborts", () => {
  it("does not run, and gives its place back", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 2 }) });
    const controller = new AbortController();
    const task = vi.fn();
    void limiter.schedule("mail", "k", task);
    const asked = watch(clock, limiter.schedule("mail", "k", task, { signal: controller.signal }));
    await clock.advance(0);
    expect(limiter.peekSync("mail", "k").remaining).toBe(0);
    controller.abort(new Error("enough"));
    await clock.advance(0);
    expect(asked.error).toEqual(new Error("enough"));
    expect(limiter.peekSync("mail", "k").remaining).toBe(1);
    await clock.advance(10_000);
    expect(task).toHaveBeenCalledTimes(1);
  });
});

describe("schedule on a rule that is not a queue", () => {
  it("is refused, with what to use instead", async () => {
    const task = vi.fn();
    // A rule whose algorithm the types do not know, as when it was read from a file.
    const api: Limit = gcra("1/s");
    const { limiter } = testLimiter({ api });
    const asked = limiter.schedule("api" as never, "k", task);
    await expect(asked).rejects.toEqual(expect.objectContaining({ code: "HG_NOT_A_QUEUE", field: "rule" }));
    await expect(asked).rejects.toThrow(/api is a gcra; schedule needs a leakyBucket, use wait instead/);
    expect(task).not.toHaveBeenCalled();
    expect(limiter.peekSync("api", "k").remaining).toBe(1);
  });
});
