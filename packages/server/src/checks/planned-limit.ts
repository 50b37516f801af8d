import { algorithms, type Operation } from "headgate";
import type { Applied } from "../rules/family.ts";
import type { Consistency } from "../rules/rule.ts";
import type { KeyStates } from "./usage-states.ts";

/** A limit that applies to a request, and how to check it. */
export interface PlannedLimit extends Applied {
  /** Which store decides. The store itself decides limits that cannot be leased. */
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
