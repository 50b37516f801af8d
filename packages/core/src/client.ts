export type { FetchOptions, Retry } from "./client/fetch-options.ts";
export { pacedFetch } from "./client/paced-fetch.ts";
export {
  type HeaderSource,
  parseRateLimitHeaders,
  type RateLimitInfo,
  type StatedLimit,
  type StatedPolicy,
} from "./middleware/headers/parse-headers.ts";
