import { type Clock, HeadgateError, type Operation, type Reservation } from "headgate";
import type { Verdict } from "headgate/http";
import { Reservations } from "headgate/store";
import type { Principal } from "../access/key-ring.ts";
import type { Actor, AuditTable } from "../database/database.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { CheckResult } from "./check.ts";
import { isSlots, type Plan } from "./check-plans.ts";
import type { Stores } from "./counter-stores.ts";
import { type IdentityPlan, IdentityPlans, type IdentityPlansOptions } from "./identity-plans.ts";
import { RequestError } from "./request-error.ts";
import {
  type ReservedCheck,
  type ReserveRequest,
  requireCosts,
  requireForMs,
  requireReserveRequest,
  reserveContextOf,
} from "./reservation-request.ts";

/** Whose reservations a call can use. */
export type ReservationClient = Pick<Principal, "namespace" | "roles">;

/** The result of `reserve`. If it is denied, nothing is reserved. */
export interface ReserveResult {
  readonly result: CheckResult;
  /** Undefined if no rule matches: there is nothing to settle. */
  readonly reservation: Reservation | undefined;
}

/** How a reservation is released. */
export interface ReleaseOptions {
  /** Whether a person releases it, in the dashboard. This is audited even if their key made the reservation. */
  readonly isByPerson?: boolean;
}

export interface ReservationServiceOptions extends IdentityPlansOptions {
  /** Default: nothing is audited. */
  readonly audit?: Pick<AuditTable, "append">;
  readonly stores: Pick<Stores, "strict" | "canReserve">;
  /** For timers. Default: the system clock. */
  readonly clock?: Clock;
}

/**
 * Reservations that clients of the service make, extend and settle by their ids, on any node. A reservation belongs to the
 * namespace of the API key that made it. Other keys cannot tell it from one that does not exist, except those with the
 * role write.
 */
export class ReservationService {
  readonly #plans: IdentityPlans;
  readonly #canReserve: boolean;
  readonly #reservations: Reservations;
  readonly #audit: ReservationServiceOptions["audit"];
  readonly #nowMs: () => number;

  constructor(options: ReservationServiceOptions) {
    this.#plans = new IdentityPlans(options);
    this.#canReserve = options.stores.canReserve;
    this.#reservations = new Reservations(options.stores.strict, { clock: options.clock });
    this.#audit = options.audit;
    this.#nowMs = options.nowMs;
  }

  /** How many reservations this node has ended because they were not extended. */
  get cleanedUp(): number {
    return this.#reservations.stats.cleanedUp;
  }

  async reserve(request: ReserveRequest, { namespace }: ReservationClient): Promise<ReserveResult> {
    const { checks, forMs, maxWaitMs, signal, idempotencyKey } = request;
    requireReserveRequest(request);
    if (!this.#canReserve) {
      const problem =
        "cannot be reserved, since nodes or workers could not find them: use --redis, or memory and one worker";
      throw new RequestError("checks", problem);
    }
    const parts = await Promise.all(checks.map((check) => this.#plans.of(check)));
    const { operations, limits } = merged(checks, parts);
    const keys = { enforced: operations.map(({ key }) => key), shadow: [] };
    const plan: Plan = { enforced: limits, shadow: [], slots: [], consistency: "strict", keys };
    const outcome = (verdict: Verdict | undefined): CheckResult => {
      const allowed = verdict?.allowed ?? true;
      return { allowed, verdict, shadow: [], plan, skewMs: undefined, skewed: false };
    };
    if (operations.length === 0) return { result: outcome(undefined), reservation: undefined };
    const once = idempotencyKey && { idempotencyKey, context: reserveContextOf(request, namespace) };
    const options = {
      forMs,
      maxWaitMs,
      isUnattended: true,
      owner: namespace,
      ...(signal && { signal }),
      ...(once && { once }),
    };
    const reservation = await this.#reservations.reserve(operations, options);
    return { result: outcome(reservation.verdict), reservation };
  }

  /** Rejects with HG_UNKNOWN_RESERVATION if there is none, if it has expired, or if it belongs to others. */
  #get(id: string, { namespace, roles }: ReservationClient): Promise<Reservation> {
    return this.#reservations.find(id, undefined, (owner) => owner === namespace || roles.includes("write"));
  }

  /** A reservation that has not ended. */
  async open(id: string, client: ReservationClient): Promise<Reservation> {
    const reservation = await this.#get(id, client);
    reservation.signal.throwIfAborted();
    if (reservation.isEnded) throw new HeadgateError("HG_RESERVATION_SETTLED", "reservation", `${id} has ended`);
    return reservation;
  }

  async extend(id: string, forMs: number, client: ReservationClient): Promise<Reservation> {
    requireForMs(forMs);
    const reservation = await this.#get(id, client);
    await reservation.extend(forMs);
    return reservation;
  }

  /** Costs by rule. Those that are not named keep what was reserved; slots are returned. */
  async settle(id: string, costs: Readonly<Record<string, number>>, client: ReservationClient): Promise<Reservation> {
    requireCosts(costs);
    const reservation = await this.#get(id, client);
    await reservation.settle(costs);
    return reservation;
  }

  /**
   * Clients release what they have reserved many times a second. Only what is released for others, or by a person, is
   * audited.
   */
  async release(
    id: string,
    client: ReservationClient & Actor,
    { isByPerson = false }: ReleaseOptions = {},
  ): Promise<void> {
    const reservation = await this.#get(id, client);
    const { owner, checks, isEnded } = reservation;
    if (!isEnded && (owner !== client.namespace || isByPerson)) {
      // First, so that nothing is released without an entry. If the release fails, the entry says what was attempted.
      await this.#audit?.append([
        {
          at: new Date(this.#nowMs()).toISOString(),
          actor_id: client.id,
          actor_name: client.name,
          action: "reservation.release",
          subject: `reservation:${id}`,
          before: { owner: owner ?? null, reserved: checks.map(({ rule, key, cost }) => ({ rule, key, cost })) },
          after: null,
        },
      ]);
    }
    await reservation.release();
  }

  list(most: number): ReturnType<Reservations["list"]> {
    return this.#reservations.list(most);
  }

  close(): void {
    this.#reservations.close();
  }
}

interface Merged {
  readonly operations: readonly Operation[];
  readonly limits: readonly AppliedLimit[];
}

/** Checks that are counted together, such as two endpoints under one rule, are one operation. */
function merged(checks: readonly ReservedCheck[], parts: readonly IdentityPlan[]): Merged {
  const operations = new Map<string, { readonly limit: AppliedLimit; readonly key: string; cost: number }>();
  for (const [i, { key, plan }] of parts.entries()) {
    for (const limit of [...plan.enforced, ...plan.slots]) {
      if (limit.consistency === "split") throw cannotReserve(limit);
      const name = `${limit.rule.counter} ${limit.limit.algorithm} ${key}`;
      const known = operations.get(name);
      // The checks of a reservation are one task.
      const isSlot = isSlots(limit);
      const cost = isSlot ? 1 : (known?.cost ?? 0) + checks[i].cost;
      requireFitting(limit, cost, `checks[${i}].cost`);
      if (known === undefined) operations.set(name, { limit, key, cost });
      else known.cost = cost;
    }
  }
  const all = [...operations.values()];
  return {
    operations: all.map(({ limit, key, cost }) => ({ rule: limit.rule, key, cost, limit: limit.limit })),
    limits: all.map(({ limit }) => limit),
  };
}

/** Rejects a cost that could never be reserved, and names the check at fault: its limits have other places. */
function requireFitting({ rule, limit: { burst } }: AppliedLimit, cost: number, field: string): void {
  if (cost <= burst) return;
  const problem = `must be at most ${burst}, which is all that the rule ${rule.name} holds, got ${cost} in all: it would never be allowed`;
  throw new HeadgateError("HG_BAD_COST", field, problem);
}

function cannotReserve({ config }: AppliedLimit): HeadgateError {
  return new RequestError(
    "checks",
    `match the rule ${config.rule_id}, which is split among the nodes and cannot be reserved: use another consistency`,
  );
}
