import type { Clock, Decision } from "headgate";
import { after, type MaybePromise } from "headgate/http";
import { ManualClock } from "headgate/testing";
import type { AuditEvent } from "../../src/audit/audit.ts";
import type { CheckRequest, CheckResult, CheckService } from "../../src/checks/check.ts";
import { makeCheckService } from "../../src/checks/check-service.ts";
import { openStores, type Stores } from "../../src/checks/counter-stores.ts";
import { ReservationService } from "../../src/checks/reservation-service.ts";
import { UserDataCache } from "../../src/checks/user-data-cache.ts";
import type { Telemetry } from "../../src/metrics/telemetry.ts";
import { Catalogue } from "../../src/rules/catalogue.ts";
import type { RateLimitRule } from "../../src/rules/rule.ts";
import type { UserData } from "../../src/rules/user-limits.ts";
import { answerOf } from "../../src/transports/shared/check-fields.ts";
import { sampleRule } from "../rules/sample-rule.ts";

/** A rule of 10 each minute for everything that a user does, but for what is given. */
export function rule(fields: Partial<RateLimitRule> = {}): RateLimitRule {
  const all = { rule_id: "all", name: "All requests", endpoint_pattern: "/**", limit: 10 };
  return sampleRule({ ...all, algorithm: "fixed_window", ...fields });
}

export function userData(user_id: string, fields: Partial<UserData> = {}): UserData {
  return { user_id, tier: null, custom_limits: {}, overrides: [], version: 1, ...fields };
}

export function request(fields: Partial<CheckRequest> = {}): CheckRequest {
  return { identifier: "42", dimension: "user", endpoint: "/api/v1/orders", cost: 1, ...fields };
}

/** Everything that was reported, in order. */
class Told implements Telemetry {
  readonly decisions: { readonly request: CheckRequest; readonly result: CheckResult }[] = [];
  readonly transitions: string[] = [];
  readonly skews: number[] = [];
  readonly calls: string[] = [];
  readonly counts: string[] = [];
  readonly failures: string[] = [];

  decided(request: CheckRequest, result: CheckResult): void {
    this.decisions.push({ request, result });
  }
  storeFailed(code: string): void {
    this.failures.push(code);
  }
  transition(ruleId: string, from: string, to: string): void {
    this.transitions.push(`${ruleId}: ${from} -> ${to}`);
  }
  skew(ms: number): void {
    this.skews.push(ms);
  }
  counted(rule: string, allowed: boolean, source: string, count: number): void {
    this.counts.push(`${rule} ${allowed ? "allowed" : "denied"} ${source} ${count}`);
  }
  countedShadow({ rule, allowed }: Decision): void {
    this.counts.push(`${rule} ${allowed ? "allowed" : "denied"} in shadow mode`);
  }
  called(transport: string, route: string, status: string, _seconds: number, count = 1): void {
    for (let i = 0; i < count; i += 1) this.calls.push(`${transport} ${route} ${status}`);
  }
}

/** A result, with what clients see of it. */
function seen(result: CheckResult) {
  const { limits = [], shadow_limits = [], rule_id, skew_ms } = answerOf(result, true);
  return { ...result, decisive: limits.find((limit) => limit.rule_id === rule_id), limits, shadow_limits, skew_ms };
}

/** A service whose results also say what clients see of them. */
interface SeenService extends CheckService {
  check(request: CheckRequest): MaybePromise<ReturnType<typeof seen>>;
  peek(request: CheckRequest): MaybePromise<ReturnType<typeof seen>>;
}

export interface World {
  readonly service: SeenService;
  readonly reservations: ReservationService;
  readonly clock: ManualClock;
  readonly stores: Stores;
  readonly told: Told;
  /** What the audit table has got. */
  readonly audited: AuditEvent[];
  /** What the database has of users. */
  readonly users: Map<string, UserData>;
  readonly userDataCache: UserDataCache;
  use(...rules: RateLimitRule[]): void;
}

export interface WorldOptions {
  readonly stores?: (clock: Clock) => Promise<Stores>;
  readonly append?: (events: readonly AuditEvent[]) => Promise<void>;
  readonly auditThrottledEveryMs?: number | "off";
}

/** A check service over these rules, on a memory store and a manual clock. */
export async function world(rules: readonly RateLimitRule[] = [rule()], options: WorldOptions = {}): Promise<World> {
  const clock = new ManualClock(Date.parse("2026-01-01T00:00:00Z"));
  const stores = await (options.stores?.(clock) ??
    openStores({ redis: undefined, zookeeper: undefined, nodes: 1 }, {}, clock));
  const told = new Told();
  const audited: AuditEvent[] = [];
  const users = new Map<string, UserData>();
  const userDataCache = new UserDataCache({ get: async (id) => users.get(id) ?? userData(id, { version: 0 }) });
  let catalogue = Catalogue.of(rules);
  const made = makeCheckService({
    stores,
    catalogue: () => catalogue,
    userDataCache,
    telemetry: told,
    audit: { append: options.append ?? (async (events) => void audited.push(...events)) },
    skewBoundMs: 1_000,
    ...(options.auditThrottledEveryMs !== undefined && { auditThrottledEveryMs: options.auditThrottledEveryMs }),
  });
  const service: SeenService = {
    check: (request) => after(made.check(request), seen),
    checkRule: (request) => made.checkRule(request),
    peek: (request) => after(made.peek(request), seen),
    correct: (...args) => made.correct(...args),
    reset: (...args) => made.reset(...args),
    close: () => made.close(),
  };
  const nowMs = () => stores.clock.now() / 1000;
  const reservations = new ReservationService({ stores, catalogue: () => catalogue, userDataCache, nowMs, clock });
  return {
    service,
    reservations,
    clock,
    stores,
    told,
    audited,
    users,
    userDataCache,
    use: (...rules) => {
      catalogue = Catalogue.of(rules);
    },
  };
}
