import type { Decision, Source, UsageState } from "headgate";
import type { CheckRequest, CheckResult, Identity } from "../checks/check.ts";
import { identityOf } from "../checks/check-plans.ts";
import { Tally } from "./decision-counts.ts";
import { DistinctIdentities } from "./distinct-identities.ts";
import { Spread } from "./histogram.ts";
import type { Telemetry, Transport } from "./telemetry.ts";
import { TopDenied } from "./top-denied.ts";

const CHECK_SECONDS = [1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const CALL_SECONDS = [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const SKEW_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 30, 300, 3600, 86_400];

/** Callers could make up routes: beyond this many kinds of calls, the rest counts as one. */
const MOST_CALLS = 1_000;

const NONE: readonly Decision[] = [];

interface Calls {
  readonly transport: Transport;
  readonly route: string;
  readonly status: string;
  readonly seconds: Spread;
}

/** The figures of this node since it started, as plain numbers. */
export class NodeTelemetry implements Telemetry {
  readonly tally = new Tally();
  readonly topDenied = new TopDenied();
  readonly identities = new DistinctIdentities();
  readonly checks = { allowed: 0, denied: 0, unmatched: 0, skewed: 0 };
  readonly checkSeconds = new Spread(CHECK_SECONDS);
  readonly ahead = new Spread(SKEW_SECONDS);
  readonly behind = new Spread(SKEW_SECONDS);
  readonly storeErrors = new Map<string, number>();
  /** By rule, then by `from to`. */
  readonly transitions = new Map<string, Map<string, number>>();
  readonly calls = new Set<Calls>();
  private readonly byTransport = new Map<Transport, Map<string, Map<string, Calls>>>();

  decided(request: CheckRequest, result: CheckResult, seconds: number): void {
    const { checks, tally } = this;
    const { verdict, shadow, plan } = result;
    let isAbove = false;
    for (const decision of verdict?.decisions ?? NONE) {
      tally.add(decision);
      if (decision.state !== "normal") isAbove = true;
    }
    this.identities.add(request.dimension, request.identifier, isAbove);
    for (let i = 0; i < shadow.length; i += 1) {
      if (plan.shadow[i].isCandidate) tally.addCandidate(shadow[i]);
      else tally.addShadow(shadow[i]);
    }
    if (result.allowed) {
      checks.allowed += 1;
    } else {
      checks.denied += 1;
      const { dimension, identifier } = deniedIdentity(result) ?? request;
      this.topDenied.add(dimension, identifier);
    }
    if (verdict === undefined && shadow.length === 0) checks.unmatched += 1;
    if (result.skewed) checks.skewed += 1;
    this.checkSeconds.add(seconds);
  }

  storeFailed(code: string): void {
    this.storeErrors.set(code, (this.storeErrors.get(code) ?? 0) + 1);
  }

  transition(ruleId: string, from: UsageState, to: UsageState): void {
    let ofRule = this.transitions.get(ruleId);
    if (ofRule === undefined) {
      ofRule = new Map();
      this.transitions.set(ruleId, ofRule);
    }
    const name = `${from} ${to}`;
    ofRule.set(name, (ofRule.get(name) ?? 0) + 1);
  }

  skew(ms: number): void {
    if (ms >= 0) this.ahead.add(ms / 1000);
    else this.behind.add(-ms / 1000);
  }

  counted(rule: string, allowed: boolean, source: Source, count: number): void {
    this.tally.count(rule, allowed, source, count);
    this.checks[allowed ? "allowed" : "denied"] += count;
  }

  countedShadow(decision: Decision): void {
    this.tally.addShadow(decision);
    this.checks.allowed += 1;
  }

  called(transport: Transport, route: string, status: string, seconds: number, count = 1): void {
    // No string concatenation here, because every check takes this path.
    const calls = this.byTransport.get(transport)?.get(route)?.get(status) ?? this.begin(transport, route, status);
    calls.seconds.add(seconds, count);
  }

  private begin(transport: Transport, route: string, status: string): Calls {
    let routes = this.byTransport.get(transport);
    if (routes === undefined) {
      routes = new Map();
      this.byTransport.set(transport, routes);
    }
    if (this.calls.size >= MOST_CALLS && route !== "other") {
      return routes.get("other")?.get(status) ?? this.begin(transport, "other", status);
    }
    const calls: Calls = { transport, route, status, seconds: new Spread(CALL_SECONDS) };
    this.calls.add(calls);
    let statuses = routes.get(route);
    if (statuses === undefined) {
      statuses = new Map();
      routes.set(route, statuses);
    }
    statuses.set(status, calls);
    return calls;
  }
}

/** Whose limit has denied a check, if the check has several identities. */
function deniedIdentity({ plan, verdict }: CheckResult): Identity | undefined {
  return verdict && identityOf(plan, "enforced", verdict.decisions.indexOf(verdict.deciding));
}
