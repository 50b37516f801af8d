// For servers other than the supported frameworks: limits reported in the same headers and bodies.

export { after, all, isPromise, type MaybePromise } from "./limiter/maybe-promise.ts";
export { addressText, type IpAddress, parseAddress } from "./middleware/address/ip-address.ts";
export { type Proxies, requireTrust, type Trust } from "./middleware/address/trusted-proxies.ts";
export { Policy } from "./middleware/headers/policy.ts";
export { PROBLEM_TYPE, type Problem, type ProblemKind, problemOf } from "./middleware/headers/problem.ts";
export {
  type Decided,
  type HeaderField,
  type HeaderForm,
  HeaderWriter,
  type LimitState,
} from "./middleware/headers/response-headers.ts";
export {
  nextState,
  type ReportedState,
  requireThresholds,
  stateHeader,
  type Thresholds,
  type UsageState,
  UsageStates,
  type WarnOptions,
} from "./middleware/headers/usage-state.ts";
