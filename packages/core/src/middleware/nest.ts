export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";
export { Admitted, RateLimit, SkipRateLimit } from "./nest/decorators.ts";
export { RateLimitException } from "./nest/denied-exception.ts";
export type { GuardRules, RateLimitOptions } from "./nest/guard.ts";
export { RateLimitModule, type RateLimitModuleAsyncOptions, type RateLimitModuleOptions } from "./nest/module.ts";
export { clientAddress, type NestRequest } from "./nest/nest-http.ts";
