import { type Answer, type ApplyOptions, type Clock, StoreError } from "headgate";
import { after, all, isPromise, type MaybePromise } from "headgate/http";
import type { AuditEvent } from "../audit/audit.ts";
import { fields } from "../config/fields.ts";
import type { Settings } from "../config/settings.ts";
import type { Actor, AuditTable } from "../database/database.ts";
import type { Telemetry } from "../metrics/telemetry.ts";
import type { Catalogue } from "../rules/catalogue.ts";
import { inTurns, type Work } from "../rules/cooperative-work.ts";
import type { Applied } from "../rules/family.ts";
import { CONSISTENCIES, type Consistency, type Dimension } from "../rules/rule.ts";
import type { Standing } from "../rules/user-limits.ts";
import { AuditTrail } from "./audit-trail.ts";
import type { CheckRequest, CheckResult, CheckService, LimitResult, UsageState } from "./check.ts";
import { type Plan, Plans } from "./check-plans.ts";
import { keyOf, requireEndpoint, requireRequest } from "./check-request.ts";
import type { Stores } from "./counter-stores.ts";
import { decisiveOf, limitResult, usageOf } from "./limit-result.ts";
import { operationOf, type PlannedLimit, type PlannedOperation, plannedLimit } from "./planned-limit.ts";
import { FirstToTell } from "./throttle-reports.ts";
import { KeyStates } from "./usage-states.ts";
import type { Standings } from "./user-data.ts";

/** Number of limits to reset in one step. */
const RESET_BATCH = 100;
/** Number of rules named in the audit entry of a reset. */
const MOST_AUDITED = 100;
/** For rules that are only reset. */
const NO_STATES = new KeyStates(1);
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

const NO_ANSWERS: readonly Answer[] = [];
const NO_RESULTS: readonly LimitResult[] = [];

class Checks implements CheckService {
  private readonly options: CheckServiceOptions;
  private readonly clock: Clock;
  private readonly trail: AuditTrail;
  /** Undefined if throttled keys are not audited. */
  private readonly firstToTell: FirstToTell | undefined;
  private readonly planned = new WeakMap<Applied, PlannedLimit>();
  private readonly plans = new Plans((applied) => this.plannedOf(applied));
  private readonly nowMs = (): number => this.clock.now() / 1000;
  /** By dimension and counter. */
  private readonly states = new Map<string, KeyStates>();

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
    const { operations, reset } = await inTurns(this.resetting(applied, key));
    for (let i = 0; i < operations.length; i += RESET_BATCH) {
      await this.resetTogether(operations.slice(i, i + RESET_BATCH));
      // Lets other requests run, because a memory store never waits.
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
    if (enforced.length === 0) return this.withShadow(asked, NO_ANSWERS);
    const operations = enforced.map((planned) => operationOf(planned, key, request.cost));
    const answers = this.options.stores[consistency].apply(action, operations, once(request, action));
    return isPromise(answers)
      ? answers.then((answers) => this.withShadow(asked, answers))
      : this.withShadow(asked, answers);
  }

  /**
   * Shadow limits are checked one by one, because a denial by one must not keep the others from being charged, and
   * after
   * the enforced limits, because a request that those deny would not have been charged here either.
   */
  private withShadow(asked: Asked, answers: readonly Answer[]): MaybePromise<CheckResult> {
    const { request, key, plan } = asked;
    if (plan.shadow.length === 0) return this.result(asked, answers, NO_ANSWERS);
    const action = answers.every(({ allowed }) => allowed) ? asked.action : "peek";
    const looks = plan.shadow.map((planned) =>
      this.options.stores[planned.consistency].apply(
        action,
        [operationOf(planned, key, request.cost)],
        once(request, action, planned),
      ),
    );
    return after(all(looks), (looks) => this.result(asked, answers, looks.flat()));
  }

  private result(asked: Asked, answers: readonly Answer[], shadowAnswers: readonly Answer[]): CheckResult {
    const { telemetry, skewBoundMs } = this.options;
    const { request, plan } = asked;
    const now = this.clock.now();
    const limits = this.results(asked, plan.enforced, answers, now);
    const decisive = decisiveOf(limits);
    const skew = request.timestamp === undefined ? undefined : request.timestamp - now / 1000;
    const result: CheckResult = {
      allowed: decisive === undefined || decisive.allowed,
      decisive,
      limits,
      shadow: plan.shadow.length === 0 ? NO_RESULTS : this.results(asked, plan.shadow, shadowAnswers, now),
      skew_ms: skew,
      skewed: skew !== undefined && Math.abs(skew) > skewBoundMs,
    };
    if (skew !== undefined) telemetry.skew(skew);
    if (asked.action === "take") telemetry.decided(request, result, (performance.now() - asked.started) / 1000);
    return result;
  }

  private results(
    { key, action }: Asked,
    limits: readonly PlannedLimit[],
    answers: readonly Answer[],
    now: number,
  ): readonly LimitResult[] {
    return limits.map((planned, i) => {
      const usage = usageOf(planned, answers[i], now);
      const state =
        action === "peek"
          ? planned.states.peek(key, usage, now)
          : planned.states.enter(key, usage, now, (from, to) => this.changed(planned, key, from, to));
      return limitResult(planned, answers[i], state);
    });
  }

  private changed(planned: PlannedLimit, key: string, from: UsageState, to: UsageState): void {
    const { definition, limit } = planned;
    const { rule_id, mode } = definition;
    this.options.telemetry.transition(rule_id, from, to);
    if (to !== "throttled" || mode === "shadow") return;
    const isFirst = this.firstToTell?.claim(planned, key);
    if (isFirst === undefined) return;
    const { limit: units, burst } = limit;
    this.trail.add(
      this.event("state.throttled", key, SYSTEM, { state: to, rule: rule_id, limit: units, burst }, { state: from }),
      isFirst,
    );
  }

  private event(action: string, subject: string, actor: Actor, after: unknown, before: unknown = null): AuditEvent {
    const at = new Date(this.clock.now() / 1000).toISOString();
    return { at, actor_id: actor.id, actor_name: actor.name, action, subject, before, after };
  }

  /** The operations that reset a key; also forgets its states. Rules that have never been used leave no trace. */
  private *resetting(
    applied: readonly Applied[],
    key: string,
  ): Work<{ readonly operations: readonly PlannedOperation[]; readonly reset: readonly string[] }> {
    const { mayHold = () => true } = this.options.stores;
    // Rules that share a counter are one for the stores, unless their algorithms differ.
    const operations = new Map<string, PlannedOperation>();
    const reset = new Set<string>();
    for (const limit of applied) {
      reset.add(limit.definition.rule_id);
      this.states.get(countedIn(limit))?.forget(key);
      const planned = this.planned.get(limit) ?? plannedLimit(limit, NO_STATES);
      const name = `${planned.consistency} ${limit.limit.algorithm} ${countedIn(limit)}`;
      if (!operations.has(name) && mayHold(limit.rule)) operations.set(name, operationOf(planned, key, 0));
      yield;
    }
    return { operations: [...operations.values()], reset: [...reset] };
  }

  /** Each consistency has its own store. */
  private async resetTogether(operations: readonly PlannedOperation[]): Promise<void> {
    for (const consistency of CONSISTENCIES) {
      const those = operations.filter(({ planned }) => planned.consistency === consistency);
      if (those.length === 0) continue;
      const answers = await this.options.stores[consistency].apply("reset", those);
      if (answers.some(({ degraded }) => degraded)) {
        throw new StoreError("HG_STORE_UNREACHABLE", "does not answer; the reset is incomplete: retry");
      }
    }
    await this.firstToTell?.forget(
      operations.map(({ planned }) => planned),
      operations[0].key,
    );
  }

  /** The limits that match an endpoint, for any identity. */
  private async matching(
    request: Pick<CheckRequest, "identifier" | "dimension" | "endpoint">,
  ): Promise<readonly Applied[]> {
    const { dimension, endpoint } = request;
    const standing = await this.standingOf({ ...request, cost: 0 });
    return this.options.catalogue().limitsFor({ dimension, endpoint, standing }, this.nowMs());
  }

  private plannedOf(applied: Applied): PlannedLimit {
    const known = this.planned.get(applied);
    if (known !== undefined) return known;
    const planned = plannedLimit(applied, this.statesOf(countedIn(applied)));
    this.planned.set(applied, planned);
    return planned;
  }

  private statesOf(counter: string): KeyStates {
    const known = this.states.get(counter);
    if (known !== undefined) return known;
    const states = new KeyStates();
    this.states.set(counter, states);
    return states;
  }
}

function countedIn({ definition, rule }: Applied): string {
  return `${definition.dimension}:${rule.counter}`;
}

/** A shadow limit is a separate request with its own idempotency key. */
function once(
  { idempotencyKey, endpoint }: CheckRequest,
  action: Asking,
  shadow?: PlannedLimit,
): ApplyOptions | undefined {
  if (idempotencyKey === undefined || action === "peek") return undefined;
  return {
    context: endpoint,
    idempotencyKey: shadow === undefined ? idempotencyKey : `${idempotencyKey} shadow ${shadow.definition.rule_id}`,
  };
}
