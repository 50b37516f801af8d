import { type Action, counterOf, type Operation } from "./store.ts";

/** How long a request is remembered under its idempotency key, in microseconds. */
export const IDEMPOTENCY_WINDOW = 300_000_000;

/**
 * Identifies a request. Limits are not part of it: a request that is repeated after its rule has changed is still the
 * same request.
 */
export function fingerprint(action: Action, operations: readonly Operation[], context?: string): string {
  const asked = operations.map(({ rule, key, cost }) => [counterOf(rule), key, cost]);
  return JSON.stringify(context === undefined ? [action, ...asked] : [action, ...asked, context]);
}
