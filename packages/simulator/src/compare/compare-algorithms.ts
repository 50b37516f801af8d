import { type AlgorithmName, algorithms, HeadgateError, type Limit, limitFromSpec } from "headgate";

/** A request of one key. */
export interface TimedCost {
  /** In whole microseconds since the epoch. Times never decrease. */
  readonly time: number;
  readonly cost: number;
}

/** What one limit decides. The lists have an entry for each request. */
export interface AlgorithmRun {
  readonly limit: Limit;
  /** Number of requests and of units that were admitted. */
  readonly admitted: number;
  readonly admittedUnits: number;
  readonly denied: number;
  readonly allowed: readonly boolean[];
  /** Units left after each request. */
  readonly remaining: readonly number[];
  /** Time until a denied request would be admitted, in microseconds; 0 if it was. */
  readonly retryAfter: readonly number[];
  /** How many numbers the algorithm kept for the key, at most. */
  readonly mostNumbers: number;
}

/** The same units per window under every algorithm. The burst applies to those that have one. */
export function limitOfEach(rate: {
  readonly limit: number;
  readonly windowMs: number;
  readonly burst?: number | undefined;
}): readonly Limit[] {
  const { limit, windowMs, burst } = rate;
  return rateAlgorithms().map(({ name, traits }) => {
    const spec = { algorithm: name, limit, window: windowMs / 1000 };
    return limitFromSpec(traits.burst && burst !== undefined ? { ...spec, burst } : spec);
  });
}

/** Decides the same requests of one key under several limits, each by itself. */
export function compareAlgorithms(limits: readonly Limit[], requests: readonly TimedCost[]): readonly AlgorithmRun[] {
  return limits.map((limit) => runOf(limit, requests));
}

function runOf(limit: Limit, requests: readonly TimedCost[]): AlgorithmRun {
  const algorithm = algorithmOf(limit);
  let cells = Float64Array.from(algorithm.blank);
  const out = { allowed: false, remaining: 0, retryAfter: 0, resetAfter: 0, time: 0, level: 0, carry: 0 };
  const [allowed, remaining, retryAfter]: [boolean[], number[], number[]] = [[], [], []];
  let admittedUnits = 0;
  for (const { time, cost } of requests) {
    algorithm.evaluate(limit, cells, 0, time, cost, out);
    allowed.push(out.allowed);
    remaining.push(out.remaining);
    retryAfter.push(out.retryAfter);
    if (!out.allowed || cost === 0) continue;
    admittedUnits += cost;
    const length = algorithm.resize?.lengthToCharge(limit, cells, 0, out) ?? 0;
    if (length > 0) {
      const longer = new Float64Array(length);
      algorithm.resize?.copy(cells, 0, longer, 0, length);
      cells = longer;
    }
    algorithm.charge(limit, cells, 0, cost, out);
  }
  const admitted = allowed.filter(Boolean).length;
  const denied = requests.length - admitted;
  return { limit, admitted, admittedUnits, denied, allowed, remaining, retryAfter, mostNumbers: cells.length };
}

type RateAlgorithm = Extract<(typeof algorithms)[AlgorithmName], { readonly blank: readonly number[] }>;

/** Slots are returned by their holders, which traffic alone does not tell. */
export function rateAlgorithms(): readonly RateAlgorithm[] {
  return Object.values(algorithms).flatMap((definition) => ("evaluate" in definition ? definition : []));
}

type Transitions = Pick<RateAlgorithm, "blank" | "evaluate" | "charge" | "resize">;

function algorithmOf({ algorithm, coarse }: Limit): Transitions {
  const found = rateAlgorithms().find(({ name }): boolean => name === algorithm);
  if (found === undefined) {
    throw new HeadgateError("HG_BAD_OPTION", "limits", `${algorithm} does not decide by time: use another algorithm`);
  }
  return coarse ? (found.coarse ?? found) : found;
}
