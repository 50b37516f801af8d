import { algorithms, type Operation } from "headgate";
import type { Applied } from "../rules/family.ts";
import type { Consistency } from "../rules/rule.ts";
import type { KeyStates } from "./usage-states.ts";

/** A limit that a request must pass, and how it is asked for. */
export interface PlannedLimit extends Applied {
  /** Which store is asked. The store itself decides about what cannot be leased. */
  readonly consistency: Consistency;
  /** The states of the counter's keys. */
  readonly states: KeyStates;
}

export function plannedLimit(applied: Applied, states: KeyStates): PlannedLimit {
  const { consistency } = applied.definition;
  const isLeased = consistency === "leased" && !algorithms[applied.limit.algorithm].traits.leasable;
  return Object.freeze({ ...applied, consistency: isLeased ? "strict" : consistency, states });
}

export interface PlannedOperation extends Operation {
  readonly planned: PlannedLimit;
}

export function operationOf(planned: PlannedLimit, key: string, cost: number): PlannedOperation {
  const { rule, limit } = planned;
  return { rule, key, cost, limit, planned };
}
