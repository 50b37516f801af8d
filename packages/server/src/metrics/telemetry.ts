import type { Decision, Source, UsageState } from "headgate";
import type { CheckRequest, CheckResult } from "../checks/check.ts";
import type { TransportName } from "../transports/registry.ts";

/** As metrics and logs name transports. */
export type Transport = "rest" | Exclude<TransportName, "envoyHttp">;

/** What is counted. Keys are never used as labels. */
export interface Telemetry {
  decided(request: CheckRequest, result: CheckResult, seconds: number): void;
  storeFailed(code: string): void;
  /** A change of a key's usage state under a rule. */
  transition(ruleId: string, from: UsageState, to: UsageState): void;
  skew(ms: number): void;
  /** Decisions under limits that are not rules of the service, all with the same result. */
  counted(rule: string, allowed: boolean, source: Source, count: number): void;
  /** A decision under such a limit that denies nothing. */
  countedShadow(decision: Decision): void;
  /** A call of any kind over a transport, or several that are alike. */
  called(transport: Transport, route: string, status: string, seconds: number, count?: number): void;
}
