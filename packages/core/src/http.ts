// What the service shares with the middleware: headers, problem documents, addresses and usage states.

export { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "./limiter/idempotency-key.ts";
export { after, all, isPromise, type MaybePromise } from "./limiter/maybe-promise.ts";
export { UsageStates } from "./limiter/usage-states.ts";
export { Verdict } from "./limiter/verdict.ts";
export { addressText, parseAddress } from "./middleware/address/ip-address.ts";
export { Policy } from "./middleware/headers/policy.ts";
export { PROBLEM_TYPE } from "./middleware/headers/problem-details.ts";
export { type HeaderField, HeaderWriter } from "./middleware/headers/response-headers.ts";
