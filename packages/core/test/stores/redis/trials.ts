import * as fc from "fast-check";
import { type Action, type AlgorithmName, algorithms, type Limit } from "../../../src/index.ts";
import { makeLimit } from "../../../src/limits/limit.ts";
import { coarseLimits, variants } from "../../algorithms/limits.ts";

const HOUR = 3_600_000_000;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Where the clock moves before a tick: from where it is, or from an instant that was returned or is due. */
export interface Move {
  readonly to: "ticks" | "windows" | "retry" | "reset" | "edge";
  readonly by: number;
}

/** So many units, or as many as are left or can be held, and some more or less. */
type Cost = { readonly units: number } | { readonly of: "left" | "held"; readonly more: number };

/** One limit of a request. */
export interface Part {
  /** Which rule, and which of the limits that it has in the course of the trial. */
  readonly rule: number;
  readonly limit: number;
  readonly key: string;
  readonly cost: Cost;
}

interface Ask {
  readonly action: Action;
  readonly parts: readonly Part[];
}

/** Requests that are asked at one time. */
interface Tick {
  readonly move: Move;
  readonly asks: readonly Ask[];
}

export interface Trial {
  readonly rules: readonly (readonly Limit[])[];
  readonly start: number;
  readonly ticks: readonly Tick[];
}

function move(to: Move["to"], by: fc.Arbitrary<number>): fc.Arbitrary<Move> {
  return by.map((amount) => ({ to, by: amount }));
}

const beside = fc.constantFrom(0, 0, -1, 1);

const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: move("ticks", fc.constant(0)) },
  { weight: 4, arbitrary: move("windows", fc.double({ min: 0, max: 0.5, noNaN: true })) },
  { weight: 1, arbitrary: move("windows", fc.double({ min: -2, max: 3, noNaN: true })) },
  { weight: 2, arbitrary: move("ticks", fc.integer({ min: -3, max: 3 })) },
  { weight: 1, arbitrary: move("ticks", fc.integer({ min: -3 * HOUR, max: 3 * HOUR })) },
  { weight: 3, arbitrary: move("retry", beside) },
  { weight: 1, arbitrary: move("reset", beside) },
  { weight: 1, arbitrary: move("edge", beside) },
);

const costs: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ units: fc.constantFrom(1, 1, 1, 2, 3, 0) }) },
  { weight: 2, arbitrary: fc.record({ of: fc.constant("left"), more: fc.constantFrom(0, 1) }) },
  { weight: 1, arbitrary: fc.record({ of: fc.constant("held"), more: fc.constantFrom(0, -1, 1) }) },
  { weight: 1, arbitrary: fc.record({ units: fc.oneof(fc.nat(1_000), fc.maxSafeNat(), fc.constant(LARGEST)) }) },
);

const parts: fc.Arbitrary<Part> = fc.record({
  rule: fc.constantFrom(0, 0, 0, 1, 2),
  limit: fc.constantFrom(0, 0, 0, 1, 2),
  key: fc.constantFrom("a", "a", "b"),
  cost: costs,
});

const asks: fc.Arbitrary<Ask> = fc.record({
  action: fc.constantFrom<Action>(
    "take",
    "take",
    "take",
    "take",
    "take",
    "takeFirst",
    "takeFirst",
    "charge",
    "peek",
    "penalize",
    "refund",
    "reset",
  ),
  parts: fc.oneof(
    { weight: 3, arbitrary: parts.map((part) => [part]) },
    // A request has each limit once.
    fc.uniqueArray(parts, { minLength: 2, maxLength: 4, selector: ({ rule, key }) => `${rule}${key}` }),
  ),
});

const ticks: fc.Arbitrary<Tick> = fc.record({
  move: moves,
  asks: fc.oneof(
    { weight: 3, arbitrary: asks.map((ask) => [ask]) },
    fc.array(asks, { minLength: 2, maxLength: 6 }),
    // Of one shape, and on several keys: they go together.
    asks.chain(alike),
  ),
});

function alike(ask: Ask): fc.Arbitrary<Ask[]> {
  const keys = fc.array(fc.constantFrom("a", "b"), { minLength: 2, maxLength: 6 });
  const [part] = ask.parts;
  return keys.map((list) => list.map((key) => ({ ...ask, parts: [{ ...part, key }] })));
}

/** So many units in so long a time that quotients have no digits left for what is cut off. */
const slowLimits = fc.record({
  limit: fc.integer({ min: 2 ** 44, max: LARGEST }),
  window: fc.integer({ min: 2 ** 40, max: 2 ** 50 }),
});

/** Every kind of limit that an algorithm may have, and for meters those with too many parts to count. */
function limitsOf(algorithm: AlgorithmName): fc.Arbitrary<Limit> {
  const own = variants.filter((variant) => variant.algorithm === algorithm);
  if (own.length === 0) throw new Error(`test/algorithms/limits.ts has no limits for ${algorithm}`);
  const rates = algorithms[algorithm].traits.burst ? [coarseLimits, slowLimits] : [slowLimits];
  return fc.oneof(
    ...own.flatMap(({ limits, modest }) => [limits, modest]),
    ...rates.map((rate) => rate.map((limit) => makeLimit({ ...limit, algorithm }))),
  );
}

/** Two rules of one algorithm and one of another, whose limits change in the course of it. */
export function trials(algorithm: AlgorithmName, others: readonly AlgorithmName[]): fc.Arbitrary<Trial> {
  const some = (name: AlgorithmName): fc.Arbitrary<Limit[]> => fc.array(limitsOf(name), { minLength: 1, maxLength: 3 });
  return fc.record({
    rules: fc.tuple(some(algorithm), some(algorithm), fc.constantFrom(...others).chain(some)),
    start: fc
      .tuple(
        fc.constantFrom(HOUR, 2 ** 50, 1_592_171_101_900_000, 1_790_000_000_000_000),
        fc.integer({ min: -9, max: 2_000_000 }),
      )
      .map(([epoch, offset]) => epoch + offset),
    ticks: fc.array(ticks, { minLength: 1, maxLength: 25, size: "max" }),
  });
}
