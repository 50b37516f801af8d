export { parseRedisAddress, type RedisAddress, type RedisHost, redactRedisUrl } from "./stores/redis/redis-address.ts";
export {
  clusterOptions,
  connect as connectRedis,
  type RedisClient,
  redisOptions,
} from "./stores/redis/redis-connection.ts";
export { RedisStore, type RedisStoreOptions } from "./stores/redis/redis-store.ts";
export type { SplitClient } from "./wrappers/split/membership.ts";
export { type Split, type SplitOptions, type SplitStats, split } from "./wrappers/split/split.ts";
