import type { RecordedDenials, RecordedRequest } from "headgate-simulator";
import type { RateLimitRule } from "../../../api/types.ts";

export type Candidate = NonNullable<RateLimitRule["candidate"]>;

/** To the worker: first the recorded requests of a rule, then limits to try on them. */
export type RecordingRequest =
  | { readonly kind: "load"; readonly rule: RateLimitRule; readonly entries: readonly RecordedRequest[] }
  | { readonly kind: "try"; readonly candidate: Candidate };

export interface LoadedTraffic {
  /** The largest usage of each key in any window. */
  readonly peaks: readonly number[];
  readonly inForce: RecordedDenials;
}

export type RecordingMessage =
  | ({ readonly kind: "loaded" } & LoadedTraffic)
  | { readonly kind: "tried"; readonly candidate: Candidate; readonly denials: RecordedDenials }
  | { readonly kind: "failed"; readonly message: string };
