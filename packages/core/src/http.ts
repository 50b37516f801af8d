// What servers of other kinds than the frameworks here need to speak of limits in the same words.
export { addressText, type IpAddress, parseAddress } from "./http/address/ip-address.ts";
export { type Proxies, requireTrust, type Trust } from "./http/address/trusted-proxies.ts";
export { after, all, type Eventually, isPromise } from "./http/eventually.ts";
export { Policy } from "./http/headers/policy.ts";
export { PROBLEM_TYPE, type Problem, type ProblemKind, problemOf } from "./http/headers/problem.ts";
export {
  type Decided,
  type HeaderField,
  type HeaderForm,
  HeaderWriter,
  type Standing,
} from "./http/headers/response-headers.ts";
export {
  nextState,
  requireThresholds,
  stateHeader,
  type Thresholds,
  type Told,
  type UsageState,
  UsageStates,
  type WarnOptions,
} from "./http/headers/usage-state.ts";
