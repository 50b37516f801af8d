import {
  type ApplyOptions,
  type Clock,
  type Decision,
  decide,
  type Operation,
  StoreError,
  type UsageState,
  type Verdict,
} from "headgate";
import { after, all, isPromise, type MaybePromise, UsageStates } from "headgate/http";
import type { AuditEvent } from "../audit/audit.ts";
import { fields } from "../config/fields.ts";
import type { Settings } from "../config/settings.ts";
import type { Actor, AuditTable } from "../database/database.ts";
import type { Telemetry } from "../metrics/telemetry.ts";
import type { Catalogue } from "../rules/catalogue.ts";
import { inTurns, type Work } from "../rules/cooperative-work.ts";
import { CONSISTENCIES, type Consistency, type Dimension } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { Standing } from "../rules/user-limits.ts";
import { AuditTrail } from "./audit-trail.ts";
import type { CheckRequest, CheckResult, CheckService } from "./check.ts";
import { type Plan, Plans } from "./check-plans.ts";
import { keyOf, requireEndpoint, requireRequest } from "./check-request.ts";
import type { Stores } from "./counter-stores.ts";
import { FirstToTell } from "./throttle-reports.ts";
import type { Standings } from "./user-data.ts";

/** Number of limits to reset in one step. */
const RESET_BATCH = 100;
/** Number of rules named in the audit entry of a reset. */
const MOST_AUDITED = 100;
/** How many keys of a counter have their usage state kept. */
const MOST_STATES = 100_000;
const SYSTEM: Actor = { id: "system", name: "headgate" };

export interface CheckServiceOptions {
  readonly stores: Pick<Stores, Consistency | "clock" | "shared" | "mayHold">;
  /** The current rules. */
  readonly catalogue: () => Pick<Catalogue, "limitsFor" | "limitsOf">;
  readonly standings: Pick<Standings, "of">;
  readonly telemetry: Pick<Telemetry, "decided" | "transition" | "skew">;
  readonly audit: Pick<AuditTable, "append">;
  /** Maximum deviation of a client's clock before the response reports it. */
  readonly skewBoundMs: number;
  /** Minimum interval between audit entries about the same throttled key of a rule. Default: one hour. */
  readonly auditThrottledEveryMs?: Settings["auditThrottledEveryMs"];
  /** Compared with clients' clocks. Default: the stores' clock. */
  readonly clock?: Clock;
}

export function makeCheckService(options: CheckServiceOptions): CheckService {
  return new Checks(options);
}

type Asking = "take" | "peek";

/** A request in progress. */
interface Asked {
  readonly request: CheckRequest;
  readonly key: string;
  readonly action: Asking;
  readonly plan: Plan;
  readonly started: number;
}

const NO_DECISIONS: readonly Decision[] = [];

class Checks implements CheckService {
  private readonly options: CheckServiceOptions;
  private readonly clock: Clock;
  private readonly trail: AuditTrail;
  /** Undefined if throttled keys are not audited. */
  private readonly firstToTell: FirstToTell | undefined;
  private readonly plans = new Plans();
  private readonly nowMs = (): number => this.clock.now() / 1000;
  /** By counter. */
  private readonly states = new Map<string | undefined, UsageStates>();

  constructor(options: CheckServiceOptions) {
    this.options = options;
    this.clock = options.clock ?? options.stores.clock;
    this.trail = new AuditTrail(options.audit);
    const { auditThrottledEveryMs: everyMs = fields.auditThrottledEveryMs.initial } = options;
    if (everyMs !== "off") {
      this.firstToTell = new FirstToTell({ everyMs, clock: this.clock, store: options.stores.shared });
    }
  }

  check(request: CheckRequest): MaybePromise<CheckResult> {
    // A cost of 0 is a peek.
    return this.ask(request, request.cost === 0 ? "peek" : "take");
  }

  peek(request: CheckRequest): MaybePromise<CheckResult> {
    return this.ask(request, "peek");
  }

  async reset(
    identity: { readonly identifier: string; readonly dimension: Dimension; readonly endpoint?: string },
    actor: Actor,
  ): Promise<{ readonly reset: readonly string[] }> {
    const key = keyOf(identity);
    const { dimension, endpoint } = identity;
    if (endpoint !== undefined) requireEndpoint(endpoint);
    const applied =
      endpoint === undefined
        ? await inTurns(this.options.catalogue().limitsOf(dimension))
        : await this.matching({ ...identity, endpoint });
    const { counted, reset } = await inTurns(this.resetting(applied, key));
    for (let i = 0; i < counted.length; i += RESET_BATCH) {
      await this.resetTogether(counted.slice(i, i + RESET_BATCH), key);
      // Lets other requests run, since a memory store never waits.
      await new Promise(setImmediate);
    }
    const after = { endpoint: endpoint ?? null, rules: reset.slice(0, MOST_AUDITED) };
    const more = reset.length - after.rules.length;
    await this.trail.addNow(this.event("limit.reset", key, actor, more > 0 ? { ...after, more } : after));
    return { reset };
  }

  close(): Promise<void> {
    return this.trail.close();
  }

  private ask(request: CheckRequest, action: Asking): MaybePromise<CheckResult> {
    const started = performance.now();
    requireRequest(request);
    const key = keyOf(request);
    const standing = this.standingOf(request);
    // Without `after`, which would need a closure for every known user.
    return isPromise(standing)
      ? standing.then((standing) => this.decide(request, key, action, standing, started))
      : this.decide(request, key, action, standing, started);
  }

  private standingOf({ dimension, identifier }: CheckRequest): MaybePromise<Standing | undefined> {
    return dimension === "user" ? this.options.standings.of(identifier) : undefined;
  }

  private decide(
    request: CheckRequest,
    key: string,
    action: Asking,
    standing: Standing | undefined,
    started: number,
  ): MaybePromise<CheckResult> {
    const plan = this.plans.of(this.options.catalogue(), request, standing, this.nowMs);
    const asked: Asked = { request, key, action, plan, started };
    const { enforced, consistency } = plan;
    if (enforced.length === 0) return this.withShadow(asked, undefined);
    const operations = enforced.map((limit) => operationOf(limit, key, request.cost));
    const verdict = decide(this.options.stores[consistency], action, operations, once(request, action));
    return isPromise(verdict)
      ? verdict.then((verdict) => this.withShadow(asked, verdict))
      : this.withShadow(asked, verdict);
  }

  /**
   * Each shadow limit is decided separately, so that one that denies does not keep the others from being charged. They
   * come after the enforced limits: a request that those deny is not charged here, either.
   */
  private withShadow(asked: Asked, verdict: Verdict | undefined): MaybePromise<CheckResult> {
    const { request, key, plan } = asked;
    if (plan.shadow.length === 0) return this.result(asked, verdict, NO_DECISIONS);
    const action = verdict?.allowed === false ? "peek" : asked.action;
    const verdicts = plan.shadow.map((limit) => {
      const store = this.options.stores[limit.consistency];
      return decide(store, action, [operationOf(limit, key, request.cost)], once(request, action, limit));
    });
    return after(all(verdicts), (verdicts) =>
      this.result(
        asked,
        verdict,
        verdicts.map(({ deciding }) => deciding),
      ),
    );
  }

  private result(asked: Asked, verdict: Verdict | undefined, shadow: readonly Decision[]): CheckResult {
    const { telemetry, skewBoundMs } = this.options;
    const { request, plan } = asked;
    if (verdict !== undefined) this.noteStates(asked, plan.enforced, verdict.decisions);
    if (shadow.length > 0) this.noteStates(asked, plan.shadow, shadow);
    const skewMs = request.timestamp === undefined ? undefined : request.timestamp - this.nowMs();
    const result: CheckResult = {
      allowed: verdict === undefined || verdict.allowed,
      verdict,
      shadow,
      plan,
      skewMs,
      skewed: skewMs !== undefined && Math.abs(skewMs) > skewBoundMs,
    };
    if (skewMs !== undefined) telemetry.skew(skewMs);
    if (asked.action === "take") telemetry.decided(request, result, (performance.now() - asked.started) / 1000);
    return result;
  }

  private noteStates({ key, action }: Asked, limits: readonly AppliedLimit[], decisions: readonly Decision[]): void {
    for (let i = 0; i < limits.length; i += 1) {
      const decision = decisions[i];
      const states = this.statesOf(limits[i]);
      if (action === "peek") {
        states.peek(key, decision);
        continue;
      }
      const before = states.enter(key, decision);
      if (before !== decision.state) this.changed(limits[i], key, before, decision.state);
    }
  }

  private changed(limit: AppliedLimit, key: string, from: UsageState, to: UsageState): void {
    const { rule_id, mode } = limit.config;
    this.options.telemetry.transition(rule_id, from, to);
    if (to !== "throttled" || mode === "shadow") return;
    const isFirst = this.firstToTell?.claim(limit, key);
    if (isFirst === undefined) return;
    const { limit: units, burst } = limit.limit;
    this.trail.add(
      this.event("state.throttled", key, SYSTEM, { state: to, rule: rule_id, limit: units, burst }, { state: from }),
      isFirst,
    );
  }

  private event(action: string, subject: string, actor: Actor, after: unknown, before: unknown = null): AuditEvent {
    const at = new Date(this.clock.now() / 1000).toISOString();
    return { at, actor_id: actor.id, actor_name: actor.name, action, subject, before, after };
  }

  /** The limits to reset for a key, one for each counter in a store. Forgets the states of the key. */
  private *resetting(
    applied: readonly AppliedLimit[],
    key: string,
  ): Work<{ readonly counted: readonly AppliedLimit[]; readonly reset: readonly string[] }> {
    // Nothing is stored under rules that were never checked.
    const { mayHold = () => true } = this.options.stores;
    const counted = new Map<string, AppliedLimit>();
    const reset = new Set<string>();
    for (const applying of applied) {
      const { config, rule, limit, consistency } = applying;
      reset.add(config.rule_id);
      this.states.get(rule.counter)?.forget(key);
      const name = `${consistency} ${limit.algorithm} ${rule.counter}`;
      if (!counted.has(name) && mayHold(rule)) counted.set(name, applying);
      yield;
    }
    return { counted: [...counted.values()], reset: [...reset] };
  }

  /** Each consistency has a store of its own. */
  private async resetTogether(limits: readonly AppliedLimit[], key: string): Promise<void> {
    for (const consistency of CONSISTENCIES) {
      const operations = limits
        .filter((limit) => limit.consistency === consistency)
        .map((limit) => operationOf(limit, key, 0));
      if (operations.length === 0) continue;
      const { degraded } = await decide(this.options.stores[consistency], "reset", operations);
      if (degraded) throw new StoreError("HG_STORE_UNREACHABLE", "does not answer; the reset is incomplete: retry");
    }
    await this.firstToTell?.forget(limits, key);
  }

  /** The limits that match an endpoint, for any identity. */
  private async matching(
    request: Pick<CheckRequest, "identifier" | "dimension" | "endpoint">,
  ): Promise<readonly AppliedLimit[]> {
    const { dimension, endpoint } = request;
    const standing = await this.standingOf({ ...request, cost: 0 });
    return this.options.catalogue().limitsFor({ dimension, endpoint, standing }, this.nowMs());
  }

  private statesOf({ rule }: AppliedLimit): UsageStates {
    let states = this.states.get(rule.counter);
    if (states === undefined) {
      states = new UsageStates({}, MOST_STATES);
      this.states.set(rule.counter, states);
    }
    return states;
  }
}

function operationOf({ rule, limit }: AppliedLimit, key: string, cost: number): Operation {
  return { rule, key, cost, limit };
}

/** A shadow limit is a separate request with its own idempotency key. */
function once(
  { idempotencyKey, endpoint }: CheckRequest,
  action: Asking,
  shadow?: AppliedLimit,
): ApplyOptions | undefined {
  if (idempotencyKey === undefined || action === "peek") return undefined;
  return {
    context: endpoint,
    idempotencyKey: shadow === undefined ? idempotencyKey : `${idempotencyKey} shadow ${shadow.config.rule_id}`,
  };
}
