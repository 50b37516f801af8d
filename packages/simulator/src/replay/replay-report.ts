import type { SeriesReport } from "./time-series.ts";
import type { MinuteCounts } from "./worst-minute.ts";

/** The result of a replay. Times are microseconds since the epoch, durations microseconds. */
export interface ReplayReport extends RuleSetReport {
  /** Times of the first and the last request; undefined without requests. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Number of different keys. */
  readonly keys: number;
  /** Number of requests that were too late to be put in order of time. */
  readonly late: number;
  /** The same traffic under the other rules, if there were any. */
  readonly against?: RuleSetReport;
  readonly changes?: ReplayChanges;
  /** What became of the requests of simulated clients, by source. */
  readonly clients?: readonly ClientReport[];
}

/** The clients of one source of simulated traffic. */
export interface ClientReport {
  readonly source: string;
  /** Number of requests, however often they were attempted, and of attempts. */
  readonly requests: number;
  readonly attempts: number;
  readonly admittedAtOnce: number;
  /** Number of requests that were admitted after being denied. */
  readonly admittedLater: number;
  /** Number of requests that were denied for good. */
  readonly gaveUp: number;
  /** Number of requests whose next attempt would have been after the end. */
  readonly unfinished: number;
  /** How long the requests that were admitted later took, from the first attempt on. */
  readonly averageWait: number;
  readonly longestWait: number;
}

/** How a set of rules decided. */
export interface RuleSetReport {
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  /** Number of requests to which no enforced rule applies. They are admitted. */
  readonly unlimited: number;
  /** Number of keys with a denied request. */
  readonly deniedKeys: number;
  readonly worstMinute: MinuteCounts | undefined;
  readonly series: SeriesReport;
  /** The same in buckets of one hour. */
  readonly hours: SeriesReport;
  /** In the order in which they were first applied. */
  readonly rules: readonly RuleReport[];
}

/** Only enforced rules deny requests; what others would have denied is reported. */
export type RuleMode = "enforce" | "shadow" | "candidate";

export interface RuleReport {
  readonly rule: string;
  /** How it was applied. A rule that is enforced for a share of the keys has one report for them, and one in shadow. */
  readonly mode: RuleMode;
  /** Number of requests that it applied to, and of those that it had room for. */
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  readonly keys: number;
  readonly deniedKeys: number;
  readonly worstMinute: MinuteCounts | undefined;
  /** The keys that were denied first, in order. */
  readonly hitFirst: readonly FirstDenial[];
  /** The keys with most denied requests. */
  readonly topDenied: readonly KeyReport[];
  /**
   * Number of keys by the largest share of the limit that they used: up to 10 %, up to 20 % and so on. Keys that were
   * denied are counted in `deniedKeys` only.
   */
  readonly peakUsage: readonly number[];
}

export interface FirstDenial {
  readonly key: string;
  readonly time: number;
}

export interface KeyReport {
  readonly key: string;
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  readonly firstDeniedAt: number;
  /** How long requests of the key would have been denied, up to the end of the traffic. */
  readonly shutOut: number;
}

/** What the other rules decide differently. */
export interface ReplayChanges {
  /** Number of requests, and of keys with such a request, that only the other rules deny. */
  readonly newlyDenied: number;
  readonly newlyDeniedKeys: number;
  /** Number of requests, and of keys with such a request, that only the other rules admit. */
  readonly newlyAdmitted: number;
  readonly newlyAdmittedKeys: number;
}
