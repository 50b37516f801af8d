export type { AddressOptions } from "../http/address/client-address.ts";
export type { Passed, Refused } from "../http/admission.ts";
export { Admitted, RateLimit, SkipRateLimit } from "./nest/decorators.ts";
export type { GuardRules, RateLimitOptions } from "./nest/guard.ts";
export { clientAddress, type NestRequest } from "./nest/http.ts";
export { RateLimitModule, type RateLimitModuleAsyncOptions, type RateLimitModuleOptions } from "./nest/module.ts";
export { RateLimitException } from "./nest/refusal.ts";
