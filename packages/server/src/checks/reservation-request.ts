import { HeadgateError } from "headgate";
import type { Identity } from "./check.ts";
import { keyOf, requireIdempotencyKey, requireRequest } from "./check-request.ts";
import { weightOf } from "./check-weight.ts";
import { RequestError } from "./request-error.ts";

export const MOST_RESERVED_CHECKS = 32;
export const SHORTEST_RESERVATION_MS = 1_000;
export const LONGEST_RESERVATION_MS = 3_600_000;
export const DEFAULT_RESERVATION_MS = 60_000;
export const LONGEST_WAIT_MS = 60_000;

/** One of the checks that quota is reserved for. */
export interface ReservedCheck extends Identity {
  readonly endpoint: string;
  readonly method?: string | undefined;
  /** Units of rates. Of each limit on concurrent tasks, one slot is taken. */
  readonly cost: number;
}

export interface ReserveRequest {
  readonly checks: readonly ReservedCheck[];
  /** How long the reservation lasts unless it is extended, in milliseconds. */
  readonly forMs: number;
  /** How long to wait for quota, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
  /** The same request with it gets the first answer again, whatever has become of the reservation. */
  readonly idempotencyKey?: string | undefined;
}

export function requireReserveRequest({ checks, forMs, maxWaitMs, idempotencyKey }: ReserveRequest): void {
  if (checks.length < 1 || checks.length > MOST_RESERVED_CHECKS) {
    throw new RequestError("checks", `must have 1 to ${MOST_RESERVED_CHECKS} checks, got ${checks.length}`);
  }
  for (const [i, check] of checks.entries()) requireCheck(check, `checks[${i}].`);
  requireForMs(forMs);
  if (!Number.isSafeInteger(maxWaitMs) || maxWaitMs < 0 || maxWaitMs > LONGEST_WAIT_MS) {
    throw new RequestError("max_wait_ms", `must be 0 to ${LONGEST_WAIT_MS} milliseconds, got ${maxWaitMs}`);
  }
  if (idempotencyKey !== undefined) requireIdempotencyKey(idempotencyKey);
}

/** What tells requests under the same idempotency key apart. Reservations of others are not found by their ids. */
export function reserveContextOf({ checks, forMs, maxWaitMs }: ReserveRequest, owner: string): string {
  const asked = checks.map((check) => [keyOf(check), check.method?.toUpperCase() ?? null, check.endpoint, check.cost]);
  return JSON.stringify(["reserve", owner, forMs, maxWaitMs, asked]);
}

export function requireForMs(forMs: number): void {
  if (Number.isSafeInteger(forMs) && forMs >= SHORTEST_RESERVATION_MS && forMs <= LONGEST_RESERVATION_MS) return;
  const range = `${SHORTEST_RESERVATION_MS} to ${LONGEST_RESERVATION_MS}`;
  throw new RequestError("for_ms", `must be ${range} milliseconds, got ${forMs}`);
}

export function requireCosts(costs: Readonly<Record<string, number>>): void {
  for (const [rule, cost] of Object.entries(costs)) {
    if (Number.isSafeInteger(cost) && cost >= 0) continue;
    throw new RequestError(`costs.${rule}`, `must be a whole number from 0 to 2^53 - 1, got ${cost}`);
  }
}

/** How many ordinary checks a reservation counts as in the limit on checks: one, and more for long paths. */
export function weightOfReservation(checks: readonly Pick<ReservedCheck, "endpoint">[]): number {
  return checks.reduce((weight, { endpoint }) => weight + weightOf(endpoint) - 1, 1);
}

function requireCheck(check: ReservedCheck, prefix: string): void {
  try {
    requireRequest(check);
    keyOf(check);
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    throw new RequestError(`${prefix}${error.field}`, error.problem);
  }
}
