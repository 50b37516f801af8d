import { HeadgateError } from "../errors.ts";
import { type Action, type Answer, counterOf, type Operation } from "./store.ts";

/** How long a request is remembered under its idempotency key, in microseconds. */
export const IDEMPOTENCY_WINDOW = 300_000_000;

/**
 * Identifies a request. Limits are not part of it: a request that is repeated after its rule has changed is still the
 * same request.
 */
export function fingerprint(action: Action, operations: readonly Operation[], context?: string): string {
  const asked = operations.map(({ rule, key, cost, slot }) =>
    slot === undefined ? [counterOf(rule), key, cost] : [counterOf(rule), key, cost, slot.id],
  );
  return JSON.stringify(context === undefined ? [action, ...asked] : [action, ...asked, context]);
}

/** Whether answers are remembered under an idempotency key. */
export function isRemembered(answers: readonly Answer[], forgetsDenial = false): boolean {
  return !forgetsDenial || answers.every(({ allowed }) => allowed);
}

/** For a request whose idempotency key another request has. */
export function idempotencyConflict(): HeadgateError {
  return new HeadgateError(
    "HG_IDEMPOTENCY_CONFLICT",
    "idempotencyKey",
    "was used for another request in the last five minutes: create a new one for each request",
  );
}
