export { clusterOptions, connectRedis, redisOptions } from "./stores/redis/clients/ioredis-options.ts";
export type {
  RedisArgument,
  RedisClient,
  RedisClusterNodes,
  RedisConnection,
} from "./stores/redis/clients/redis-client.ts";
export { parseRedisAddress, type RedisAddress, type RedisHost, redactRedisUrl } from "./stores/redis/redis-address.ts";
export { RedisStore, type RedisStoreOptions } from "./stores/redis/redis-store.ts";
export type { SplitClient } from "./wrappers/split/membership.ts";
export { type Split, type SplitOptions, type SplitStats, split } from "./wrappers/split/split.ts";
