import type { Operation } from "headgate";

/** One request of a log or of a traffic model. */
export interface TrafficRequest {
  /** In whole microseconds since the epoch. */
  readonly time: number;
  /** Whose quota is charged. */
  readonly key: string;
  /** Without the query string. */
  readonly path: string;
  /** Empty if the log does not have it: rules that name methods do not apply. */
  readonly method: string;
  /** A whole number of units. */
  readonly cost: number;
}

/** A rule that applies to a request and, if it is not the rule's own, the limit in its place. */
export interface AppliedRule extends Pick<Operation, "rule" | "limit"> {
  /** Whether it is a candidate: tried next to the rule of the same name. */
  readonly isCandidate?: true;
}

/** The rules that apply to a request. */
export interface RequestRules {
  /** Charged together: if one of them denies the request, none is charged. */
  readonly enforced: readonly AppliedRule[];
  /** Each charged by itself, for requests that the enforced rules admit. Their denials are only reported. */
  readonly shadow: readonly AppliedRule[];
}

/** Finds the rules of a request. It may depend on everything but the time and the cost. */
export type RulesFor = (request: TrafficRequest) => RequestRules;
