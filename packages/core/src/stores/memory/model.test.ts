import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Outcome } from "../../algorithms/algorithm.ts";
import { algorithmOf } from "../../algorithms/lookup.ts";
import { bucketedWindow, fixedWindow, gcra, slidingWindow, slidingWindowLog } from "../../algorithms/registry.ts";
import type { CheckAction } from "../../limiter/check-options.ts";
import type { MemoryLimiter } from "../../limiter/memory-limiter.ts";
import type { Limit } from "../../limits/limit.ts";
import { testLimiter } from "../../testing/index.ts";

const KEYS = 400;

// Actions on runs of keys, so that a short sequence makes tables grow; idling, so that they are swept and shrink.
const some = {
  from: fc.nat(KEYS - 1),
  count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: KEYS })),
};
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ ...some, action: fc.constant<Step>("take"), cost: fc.integer({ min: 0, max: 7 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        ...some,
        action: fc.constantFrom<Step>("peek", "penalize", "refund", "reset"),
        cost: fc.integer({ min: 0, max: 7 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        action: fc.constant<Step>("pass"),
        from: fc.constant(0),
        count: fc.nat(5_000_000),
        cost: fc.constant(0),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        action: fc.constant<Step>("idle"),
        from: fc.nat(KEYS - 1),
        count: fc.nat(60),
        cost: fc.constant(1),
      }),
    },
  ),
  { maxLength: 40, size: "max" },
);

/** An action on keys in a row; time that passes, in microseconds; or many milliseconds with one request in each. */
type Step = CheckAction | "pass" | "idle";

describe.each<[string, Limit]>([
  ["gcra", gcra("5/2s")],
  ["sliding_window_counter", slidingWindow("5/s")],
  ["fixed_window", fixedWindow("5/s", { anchor: "request" })],
  ["sliding_window_log", slidingWindowLog("5/s")],
  ["bucketed_window", bucketedWindow("40/s", { bucketWidthMs: 10 })],
])("many keys of a %s", (_name, limit) => {
  it("decide as one row for each key does, while the table grows, shrinks and is swept", { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const { limiter, clock } = testLimiter({ api: limit }, { startMs: 1_700_000_000_000 });
        const rows = new Rows(limit);
        const same = (action: CheckAction, number: number, cost: number): void => {
          const key = `key ${number}`;
          const told = ask(limiter, action, key, cost);
          const model = rows.ask(action, key, cost, clock.now());
          // Compared by hand: this runs a million times.
          if (!agree(told, model)) expect(told, `${action} ${cost} of ${key}`).toEqual(model);
        };
        for (const { action, from, count, cost } of sequence) {
          if (action === "pass") {
            clock.set((clock.now() + count) / 1000);
          } else if (action === "idle") {
            for (let i = 0; i < count; i += 1) {
              clock.set(clock.now() / 1000 + 1);
              same("take", from, cost);
            }
          } else {
            for (let i = 0; i < count; i += 1) same(action, (from + i) % KEYS, cost);
          }
          const { api } = limiter.store.stats;
          expect(api.keys).toBeLessThanOrEqual(rows.size);
          expect(api.keys).toBeGreaterThanOrEqual(rows.inUse(clock.now()));
        }
        for (let i = 0; i < KEYS; i += 1) same("peek", i, 1);
      }),
      { numRuns: 60 },
    );
  });
});

interface Told {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
}

function agree(a: Told, b: Told): boolean {
  return (
    a.allowed === b.allowed &&
    a.remaining === b.remaining &&
    a.retryAfterMs === b.retryAfterMs &&
    a.resetAfterMs === b.resetAfterMs
  );
}

function ask(limiter: MemoryLimiter<{ api: Limit }>, action: CheckAction, key: string, cost: number): Told {
  switch (action) {
    case "take":
      return limiter.checkSync("api", key, { cost });
    case "peek":
      return limiter.peekSync("api", key, { cost });
    case "penalize":
      return limiter.penalizeSync("api", key, { cost });
    case "refund":
      return limiter.refundSync("api", key, { cost });
    case "reset":
      return limiter.resetSync("api", key);
  }
}

/** The plainest store there can be: a Map of rows, never swept. */
class Rows {
  private readonly rows = new Map<string, Float64Array>();
  private readonly limit: Limit;

  constructor(limit: Limit) {
    this.limit = limit;
  }

  get size(): number {
    return this.rows.size;
  }

  /** How many keys have anything used: those a store must not forget. */
  inUse(now: number): number {
    return [...this.rows.keys()].filter((key) => this.evaluate(key, now, 0).resetAfter > 0).length;
  }

  ask(action: CheckAction, key: string, cost: number, now: number): Told {
    const algorithm = algorithmOf(this.limit);
    const asked = action === "take" || action === "peek" ? this.evaluate(key, now, cost) : undefined;
    if (action === "reset") this.rows.delete(key);
    if (action === "refund" && this.rows.has(key)) algorithm.refund(this.limit, this.row(key), 0, now, cost);
    if (cost > 0 && (action === "penalize" || (action === "take" && asked?.allowed))) this.charge(key, now, cost);
    const { allowed, retryAfter } = asked ?? this.evaluate(key, now, 1);
    const { remaining, resetAfter } = this.evaluate(key, now, 0);
    return { allowed, remaining, retryAfterMs: retryAfter / 1000, resetAfterMs: resetAfter / 1000 };
  }

  private row(key: string): Float64Array {
    return this.rows.get(key) ?? Float64Array.from(algorithmOf(this.limit).blank);
  }

  private evaluate(key: string, now: number, cost: number): Outcome {
    const out = new Outcome();
    algorithmOf(this.limit).evaluate(this.limit, this.row(key), 0, now, cost, out);
    return out;
  }

  private charge(key: string, now: number, cost: number): void {
    const algorithm = algorithmOf(this.limit);
    const out = this.evaluate(key, now, cost);
    let row = this.row(key);
    const longer = algorithm.resize?.lengthToCharge(this.limit, row, 0, out) ?? 0;
    if (longer > 0) {
      const copy = new Float64Array(longer);
      algorithm.resize?.copy(row, 0, copy, 0, longer);
      row = copy;
    }
    algorithm.charge(this.limit, row, 0, cost, out);
    this.rows.set(key, row);
  }
}
