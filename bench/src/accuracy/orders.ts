import type { Place } from "./subject.ts";

/** What each process does. */
export type Task =
  | { readonly kind: "burst"; readonly requests: number }
  | { readonly kind: "steady"; readonly perSecond: number; readonly forMs: number };

/** Instructions for one process. */
export type Orders = Task & { readonly subject: string; readonly place: Place };

/** One call: when it was made (milliseconds since 1970), how long it took, and what it returned. */
export interface Call {
  readonly at: number;
  readonly tookMs: number;
  readonly result: "admitted" | "denied" | "error" | "unanswered";
}
