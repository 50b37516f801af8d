import type { CheckRequest, CheckResult, UsageState } from "../checks/check.ts";

/** What is counted. No key is ever a label. */
export interface Telemetry {
  decided(request: CheckRequest, result: CheckResult, seconds: number): void;
  storeFailed(code: string): void;
  /** Of a key's state with a limit. */
  transition(ruleId: string, from: UsageState, to: UsageState): void;
  skew(ms: number): void;
  /** A REST or gRPC call of any kind. */
  called(transport: "rest" | "grpc", route: string, status: string, seconds: number): void;
}
