export { clusterOptions, type RedisClient, redisOptions } from "./stores/redis/connection.ts";
export { RedisStore, type RedisStoreOptions } from "./stores/redis/redis-store.ts";
