import type { UsageState } from "headgate";
import type { CheckRequest, CheckResult } from "../checks/check.ts";

/** What is counted. Keys are never used as labels. */
export interface Telemetry {
  decided(request: CheckRequest, result: CheckResult, seconds: number): void;
  storeFailed(code: string): void;
  /** A change of a key's usage state under a rule. */
  transition(ruleId: string, from: UsageState, to: UsageState): void;
  skew(ms: number): void;
  /** A REST or gRPC call of any kind. */
  called(transport: "rest" | "grpc", route: string, status: string, seconds: number): void;
}
