import * as fc from "fast-check";
import type { Limit } from "../../src/limits/limit.ts";
import { windowEnd } from "../../src/limits/window-end.ts";
import type { Answer, Row } from "./row.ts";

/** Where the clock goes before a request. */
type Move =
  | { readonly to: "stay" }
  /** Ahead by a share of the window; a negative one is a clock that runs back. */
  | { readonly to: "by"; readonly share: number }
  | { readonly to: "tick"; readonly ticks: number }
  /** To an instant that was returned or is due, or one microsecond before or after it. */
  | { readonly to: "retry" | "reset" | "edge"; readonly beside: number };

/** What a request takes: so many units, or as much as there is. */
type Cost =
  | { readonly units: number }
  | { readonly of: "left" | "held"; readonly more: number }
  | { readonly of: "half" | "anything"; readonly more: 0 };

interface Step {
  readonly move: Move;
  readonly cost: Cost;
  readonly action: "take" | "penalize" | "refund";
}

export interface Traffic {
  readonly start: number;
  readonly steps: readonly Step[];
}

const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ to: "stay" } as const) },
  { weight: 4, arbitrary: fc.record({ to: fc.constant("by"), share: fc.double({ min: 0, max: 0.5, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ to: fc.constant("by"), share: fc.double({ min: 0, max: 3, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ to: fc.constant("by"), share: fc.double({ min: -2, max: 0, noNaN: true }) }) },
  { weight: 2, arbitrary: fc.record({ to: fc.constant("tick"), ticks: fc.integer({ min: -3, max: 3 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      to: fc.constantFrom("retry", "retry", "reset", "edge"),
      beside: fc.constantFrom(0, 0, -1, 1),
    }),
  },
);

const costs: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ units: fc.constantFrom(1, 1, 1, 2, 3, 0) }) },
  { weight: 2, arbitrary: fc.record({ of: fc.constant("left"), more: fc.constantFrom(0, 1) }) },
  { weight: 1, arbitrary: fc.record({ of: fc.constant("held"), more: fc.constantFrom(0, 0, -1, 1) }) },
  { weight: 1, arbitrary: fc.record({ of: fc.constantFrom("half", "anything"), more: fc.constant(0) }) },
);

const starts = fc.tuple(
  fc.constantFrom(0, -7_200_000_000, 1_592_171_101_900_000, 1_790_000_000_000_000),
  fc.nat({ max: 2_000_000 }),
);

function traffics(action: fc.Arbitrary<Step["action"]>, maxLength = 40): fc.Arbitrary<Traffic> {
  return fc.record({
    start: starts.map(([epoch, offset]) => epoch + offset),
    steps: fc.array(fc.record({ move: moves, cost: costs, action }), { minLength: 1, maxLength, size: "max" }),
  });
}

/** Requests at, before and after the instants that matter, by clocks that may run back. */
export const requests = traffics(fc.constant("take"));

export const manyRequests = traffics(fc.constant("take"), 120);

/** The same with penalties and refunds among them. */
export const dealings = traffics(fc.constantFrom("take", "take", "take", "take", "penalize", "refund"));

/** A key that a penalty puts into debt beyond 2^53 units is still locked out, but no longer to the unit. */
const MOST_OVERDRAWN = 2 ** 47;

export type Visit = (now: number, cost: number, answer: Answer) => void;

/** Plays traffic against a row; answers the time of the last step. */
export function play(row: Row, { start, steps }: Traffic, visit: Visit = () => {}): number {
  let now = start;
  const told = { retry: start, reset: start };
  for (const { move, cost, action } of steps) {
    now = moved(now, move, row.limit, told);
    const units = unitsOf(cost, row, now);
    if (action === "take") {
      const answer = row.take(now, units);
      if (answer.retryAfter > 0 && Number.isFinite(answer.retryAfter)) told.retry = now + answer.retryAfter;
      if (answer.resetAfter > 0) told.reset = now + answer.resetAfter;
      visit(now, units, answer);
    } else if (action === "refund" || row.limit.burst < MOST_OVERDRAWN) {
      // More than the limit at once would keep a key locked for longer than the traffic lasts.
      row[action](now, Math.min(units, heldBy(row.limit)));
    }
  }
  return now;
}

/** The most that a limit holds, in whole units. */
export function heldBy(limit: Limit): number {
  return Math.floor(limit.burst);
}

function moved(now: number, move: Move, limit: Limit, told: { retry: number; reset: number }): number {
  if (move.to === "stay") return now;
  if (move.to === "tick") return now + move.ticks;
  if (move.to === "by") return now + Math.floor(move.share * limit.window);
  if (move.to !== "edge") return told[move.to] + move.beside;
  if (limit.calendar !== undefined) return windowEnd(limit, now) + move.beside;
  const width = limit.bucketWidth > 1 ? limit.bucketWidth : limit.window;
  return (Math.floor(now / width) + 1) * width + move.beside;
}

function unitsOf(cost: Cost, row: Row, now: number): number {
  if ("units" in cost) return cost.units;
  if (cost.of === "anything") return Number.MAX_SAFE_INTEGER;
  if (cost.of === "half") return Math.ceil(heldBy(row.limit) / 2);
  const whole = cost.of === "held" ? heldBy(row.limit) : Math.floor(row.ask(now, 0).remaining);
  return Math.max(0, Math.min(whole + cost.more, Number.MAX_SAFE_INTEGER));
}
