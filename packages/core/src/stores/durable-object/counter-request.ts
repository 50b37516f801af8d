import { type ErrorCode, HeadgateError } from "../../errors.ts";
import type { Limit } from "../../limits/limit.ts";
import { limitFromJson } from "../../limits/limit-json.ts";
import { type Action, type Answer, type ApplyOptions, limitOf, type Operation } from "../store.ts";

/** A request from a Worker to the Durable Object that has its counters. */
export interface CounterRequest {
  readonly action: Action;
  readonly operations: readonly Operation[];
  readonly options?: ApplyOptions | undefined;
}

/** The answers, or why there are none. */
export type CounterReply =
  | { readonly answers: readonly Answer[] }
  | { readonly error: { readonly code: ErrorCode; readonly field: string; readonly problem: string } };

/** Calls between Workers copy plain objects only, which a calendar is not. */
export function sentOperations(operations: readonly Operation[]): readonly Operation[] {
  const isPlain = operations.every(
    (operation) => (limitOf(operation).calendar ?? operation.rule.limit.calendar) === undefined,
  );
  return isPlain ? operations : JSON.parse(JSON.stringify(operations));
}

/** Operations with the calendars of this process. */
export function receivedOperations(operations: readonly Operation[]): readonly Operation[] {
  return operations.map((operation) => {
    const { rule, limit } = operation;
    const received = { ...operation, rule: { ...rule, limit: receivedLimit(rule.limit) } };
    return limit === undefined ? received : { ...received, limit: receivedLimit(limit) };
  });
}

function receivedLimit(limit: Limit): Limit {
  const received = limit.calendar === undefined ? limit : limitFromJson(limit);
  if (received === undefined)
    throw new HeadgateError(
      "HG_BAD_LIMIT",
      "limit",
      "was sent by another version of Headgate: deploy the same version everywhere",
    );
  return received;
}
