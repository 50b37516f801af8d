import {
  type ApplyOptions,
  type Clock,
  type Decision,
  type Operation,
  type Store,
  StoreError,
  type UsageState,
} from "headgate";
import { after, all, isPromise, type MaybePromise, UsageStates, Verdict } from "headgate/http";
import { decide } from "headgate/store";
import type { AuditEvent } from "../audit/audit.ts";
import { fields } from "../config/fields.ts";
import type { Settings } from "../config/settings.ts";
import type { Actor, AuditTable } from "../database/database.ts";
import type { Telemetry } from "../metrics/telemetry.ts";
import type { Catalogue } from "../rules/catalogue.ts";
import { inTurns, type Work } from "../rules/cooperative-work.ts";
import { CONSISTENCIES, type Consistency, type Dimension } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { UserData } from "../rules/user-limits.ts";
import { AcrossKeys } from "./across-keys.ts";
import { AuditTrail } from "./audit-trail.ts";
import type { CheckRequest, CheckResult, CheckService, Correction, Identity, RuleCheckRequest } from "./check.ts";
import { isSlots, jointPlan, type Plan, Plans, planForKey, planOf } from "./check-plans.ts";
import { keyOf, requireEndpoint, requireRequest } from "./check-request.ts";
import type { Stores } from "./counter-stores.ts";
import { GroupedStore } from "./grouped-store.ts";
import { IdentityPlans } from "./identity-plans.ts";
import { PartlySplit } from "./partly-split.ts";
import { RequestError } from "./request-error.ts";
import { FirstToTell } from "./throttle-reports.ts";
import type { UserDataCache } from "./user-data-cache.ts";

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
  readonly catalogue: () => Pick<Catalogue, "limitsFor" | "limitsOf" | "methods" | "ruleOf" | "limitOn">;
  readonly userDataCache: Pick<UserDataCache, "of">;
  readonly telemetry: Pick<Telemetry, "decided" | "transition" | "skew">;
  readonly audit: Pick<AuditTable, "append">;
  /** Maximum deviation of a client's clock before the response reports it. */
  readonly skewBoundMs: number;
  /** Minimum interval between audit entries about the same throttled key of a rule. Default: one hour. */
  readonly auditThrottledEveryMs?: Settings["auditThrottledEveryMs"];
  /** How long to wait for the journal before several identities are charged without it. */
  readonly storeTimeoutMs?: number;
  /** Compared with clients' clocks. Default: the stores' clock. */
  readonly clock?: Clock;
}

export function makeCheckService(options: CheckServiceOptions): CheckService {
  return new Checks(options);
}

type Asking = "take" | "peek" | Correction;

/** A request in progress. */
interface Asked {
  readonly request: CheckRequest;
  /** Of the first identity. */
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
  private readonly identityPlans: IdentityPlans;
  private readonly nowMs = (): number => this.clock.now() / 1000;
  /** By counter. */
  private readonly states = new Map<string | undefined, UsageStates>();

  constructor(options: CheckServiceOptions) {
    this.options = options;
    this.clock = options.clock ?? options.stores.clock;
    this.trail = new AuditTrail(options.audit);
    const { catalogue, userDataCache } = options;
    this.identityPlans = new IdentityPlans({ catalogue, userDataCache, nowMs: this.nowMs });
    const { auditThrottledEveryMs: everyMs = fields.auditThrottledEveryMs.initial } = options;
    if (everyMs !== "off") {
      this.firstToTell = new FirstToTell({ everyMs, clock: this.clock, store: options.stores.shared });
    }
  }

  check(request: CheckRequest): MaybePromise<CheckResult> {
    // A cost of 0 is a peek.
    return this.ask(request, request.cost === 0 ? "peek" : "take");
  }

  checkRule({ ruleId, identifier, cost }: RuleCheckRequest): MaybePromise<CheckResult> {
    const started = performance.now();
    const rule = this.options.catalogue().ruleOf(ruleId);
    if (rule === undefined) throw new RequestError("rule", `there is no rule with the id ${JSON.stringify(ruleId)}`);
    const request = { identifier, dimension: rule.dimension, endpoint: rule.endpoint_pattern, cost };
    requireRequest(request);
    const key = keyOf(request);
    return after(this.userDataOf(request), (userData) => {
      const applied = this.options.catalogue().limitOn(rule, userData, this.nowMs());
      if (applied !== undefined && isSlots(applied)) throw needsReservation(ruleId);
      const plan = planForKey(planOf(applied === undefined ? [] : [applied]), key);
      return this.decideUnder({ request, key, action: cost === 0 ? "peek" : "take", plan, started });
    });
  }

  peek(request: CheckRequest): MaybePromise<CheckResult> {
    return this.ask(request, "peek");
  }

  async correct(action: Correction, request: CheckRequest): Promise<CheckResult> {
    requireRequest(request);
    const parts = await this.identityPlans.ofAll(request);
    const plan = jointPlan(parts);
    const limits = [...plan.enforced, ...plan.shadow];
    const keys = [...plan.keys.enforced, ...plan.keys.shadow];
    const asked: Asked = { request, key: parts[0].key, action, plan, started: performance.now() };
    if (limits.length === 0) return this.result(asked, undefined, NO_DECISIONS);
    const store = new GroupedStore(
      limits.map(({ consistency }, i) => {
        return { name: consistency, key: keys[i], store: this.options.stores[consistency] };
      }),
    );
    const operations = limits.map((limit, i) => operationOf(limit, keys[i], request.cost));
    const verdict = await decide(store, action, operations, { ...once(request, action), storeOnly: true });
    const { decisions } = verdict;
    const enforced = plan.enforced.length === 0 ? undefined : new Verdict(decisions.slice(0, plan.enforced.length));
    return this.result(asked, enforced, decisions.slice(plan.enforced.length));
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
    if (request.others !== undefined) return this.askTogether(request, action, started);
    const key = keyOf(request);
    const userData = this.userDataOf(request);
    // Without `after`, which would need a closure for every known user.
    return isPromise(userData)
      ? userData.then((userData) => this.decide(request, key, action, userData, started))
      : this.decide(request, key, action, userData, started);
  }

  private async askTogether(request: CheckRequest, action: Asking, started: number): Promise<CheckResult> {
    const parts = await this.identityPlans.ofAll(request);
    const plan = jointPlan(parts);
    const asked: Asked = { request, key: parts[0].key, action, plan, started };
    const { enforced, keys } = plan;
    if (enforced.length === 0) return this.withShadow(asked, undefined);
    const operations = enforced.map((limit, i) => operationOf(limit, keys.enforced[i], request.cost));
    const { stores, storeTimeoutMs: journalWaitMs } = this.options;
    const store = this.storeOf(plan, (each) => {
      return new AcrossKeys(each, { isJournalled: each === stores.strict, journalWaitMs });
    });
    return this.withShadow(asked, await decide(store, action, operations, once(request, action)));
  }

  private userDataOf({ dimension, identifier }: Identity): MaybePromise<UserData | undefined> {
    return dimension === "user" ? this.options.userDataCache.of(identifier) : undefined;
  }

  private decide(
    request: CheckRequest,
    key: string,
    action: Asking,
    userData: UserData | undefined,
    started: number,
  ): MaybePromise<CheckResult> {
    const plan = planForKey(this.plans.of(this.options.catalogue(), request, userData, this.nowMs), key);
    return this.decideUnder({ request, key, action, plan, started });
  }

  private decideUnder(asked: Asked): MaybePromise<CheckResult> {
    const { request, key, action, plan } = asked;
    const { enforced } = plan;
    if (enforced.length === 0) return this.withShadow(asked, undefined);
    const operations = enforced.map((limit) => operationOf(limit, key, request.cost));
    const verdict = decide(this.storeOf(plan), action, operations, once(request, action));
    return isPromise(verdict)
      ? verdict.then((verdict) => this.withShadow(asked, verdict))
      : this.withShadow(asked, verdict);
  }

  private storeOf({ consistency, isSplit }: Plan, wrapped: (store: Store) => Store = asItIs): Store {
    const { stores } = this.options;
    if (isSplit === undefined || stores.split === stores.strict) return wrapped(stores[consistency]);
    return new PartlySplit(wrapped(stores.split), wrapped(stores.strict), isSplit);
  }

  /**
   * Each shadow limit is decided separately, so that one that denies does not keep the others from being charged. They
   * come after the enforced limits: a request that those deny is not charged here, either.
   */
  private withShadow(asked: Asked, verdict: Verdict | undefined): MaybePromise<CheckResult> {
    const { request, plan } = asked;
    if (plan.shadow.length === 0) return this.result(asked, verdict, NO_DECISIONS);
    const action = verdict?.allowed === false ? "peek" : asked.action;
    const verdicts = plan.shadow.map((limit, i) => {
      const store = this.options.stores[limit.consistency];
      const key = plan.keys?.shadow[i] ?? asked.key;
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
    if (verdict !== undefined) this.noteStates(asked, "enforced", verdict.decisions);
    if (shadow.length > 0) this.noteStates(asked, "shadow", shadow);
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

  private noteStates(asked: Asked, list: "enforced" | "shadow", decisions: readonly Decision[]): void {
    const { action, plan } = asked;
    const limits = plan[list];
    for (let i = 0; i < limits.length; i += 1) {
      const decision = decisions[i];
      const key = plan.keys?.[list][i] ?? asked.key;
      const states = this.statesOf(limits[i]);
      if (action === "peek") {
        states.peek(key, decision);
        continue;
      }
      const before = states.enter(key, decision);
      if (before !== decision.state) this.changed(limits[i], key, before, decision.state, list === "enforced");
    }
  }

  private changed(limit: AppliedLimit, key: string, from: UsageState, to: UsageState, isEnforced: boolean): void {
    const { rule_id } = limit.config;
    // A candidate has states of its own, which are not those of its rule.
    if (limit.isCandidate) return;
    this.options.telemetry.transition(rule_id, from, to);
    if (to !== "throttled" || !isEnforced) return;
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
    for (const applying of applied.flatMap((each) => (each.candidate === undefined ? each : [each, each.candidate]))) {
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

  /** The limits that match an endpoint, for any identity and method. */
  private async matching(
    request: Pick<CheckRequest, "identifier" | "dimension" | "endpoint">,
  ): Promise<readonly AppliedLimit[]> {
    const { dimension, endpoint } = request;
    const userData = await this.userDataOf(request);
    return this.options.catalogue().limitsFor({ dimension, endpoint, anyMethod: true, userData }, this.nowMs());
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

function needsReservation(ruleId: string): RequestError {
  const problem = `${JSON.stringify(ruleId)} limits concurrent tasks: reserve a slot with POST /api/v1/reservations`;
  return new RequestError("rule", problem);
}

function asItIs(store: Store): Store {
  return store;
}

/** A shadow limit is a separate request with its own idempotency key. */
function once(
  { idempotencyKey, endpoint, method, answerWithinMs }: CheckRequest,
  action: Asking,
  shadow?: AppliedLimit,
): ApplyOptions | undefined {
  const within = answerWithinMs === undefined ? undefined : { answerWithin: answerWithinMs * 1000 };
  if (idempotencyKey === undefined || action === "peek") return within;
  return {
    ...within,
    context: method === undefined ? endpoint : `${method.toUpperCase()} ${endpoint}`,
    idempotencyKey: shadow === undefined ? idempotencyKey : `${idempotencyKey} ${trialOf(shadow)}`,
  };
}

function trialOf({ isCandidate, config }: AppliedLimit): string {
  return `${isCandidate ? "candidate" : "shadow"} ${config.rule_id}`;
}
