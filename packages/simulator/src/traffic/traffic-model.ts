/** When the requests of a source arrive. Durations are in milliseconds. */
export type Arrivals =
  /** At equal distances. */
  | { readonly model: "steady" }
  /** At random, independently of each other. */
  | { readonly model: "poisson" }
  /** In bursts of one key each, at random times. The requests of a burst are spread evenly over `spreadMs`. */
  | { readonly model: "bursts"; readonly size: number; readonly spreadMs: number }
  /** At random, with a rate that follows the time of day in UTC. At night it is `low` of the average, from 0 to 1. */
  | { readonly model: "daily"; readonly peakHour: number; readonly low: number }
  /** At random; from `atMs` on the rate rises to `factor` times the usual one, stays there, and falls again. */
  | {
      readonly model: "flash_crowd";
      readonly atMs: number;
      readonly riseMs: number;
      readonly stayMs: number;
      readonly fallMs: number;
      readonly factor: number;
    };

/** What a client does when it is denied. */
export interface Retries {
  /** `at_once`: after `delayMs`; `retry_after`: after the wait that the denial states; `backoff`: after growing delays. */
  readonly strategy: "at_once" | "retry_after" | "backoff";
  /** Attempts after the first one, at most. */
  readonly attempts: number;
  /** Time between an answer and the next attempt; with `backoff`, the first delay. */
  readonly delayMs: number;
  /** With `backoff`: how much longer each delay is than the one before, and the longest. */
  readonly factor: number;
  readonly longestMs: number;
  /** The share of each delay that is random, from 0 to 1. */
  readonly jitter: number;
}

/** A group of clients that behave alike. */
export interface TrafficSource {
  readonly name: string;
  readonly arrivals: Arrivals;
  /** Requests per second of all its keys together, on average. In a flash crowd: before and after it. */
  readonly rate: number;
  /** Number of keys. Key 1 of the source `api` is `api-1`. */
  readonly keys: number;
  /** Zipf's exponent: key n is n^zipf times less frequent than key 1. 0: all alike. */
  readonly zipf: number;
  readonly path: string;
  readonly method: string;
  /** The cost of a request is a whole number between these, all equally likely. */
  readonly leastCost: number;
  readonly mostCost: number;
  readonly retries?: Retries | undefined;
}

/** Traffic that a seed repeats in every engine. */
export interface TrafficModel {
  readonly seed: number;
  /** In microseconds since the epoch. */
  readonly start: number;
  readonly durationMs: number;
  readonly sources: readonly TrafficSource[];
}

const DEFAULTS = { rate: 10, keys: 100, zipf: 0, path: "/", method: "GET", leastCost: 1, mostCost: 1 } as const;

/** A source with defaults for what is not stated: 10 requests per second of 100 keys, at random times. */
export function trafficSource(stated: Partial<TrafficSource> & Pick<TrafficSource, "name">): TrafficSource {
  return { arrivals: { model: "poisson" }, ...DEFAULTS, ...stated };
}
