export { clusterOptions, connectRedis, redisOptions } from "./stores/redis/clients/ioredis-options.ts";
export type {
  RedisArgument,
  RedisClient,
  RedisClusterNodes,
  RedisConnection,
} from "./stores/redis/clients/redis-client.ts";
export { RedisStore, type RedisStoreOptions } from "./stores/redis/redis-store.ts";
export { parseRedisAddress, type RedisAddress, type RedisHost, redactRedisUrl } from "./stores/redis/redis-url.ts";
export { type Split, type SplitOptions, type SplitStats, split } from "./wrappers/split/split.ts";
