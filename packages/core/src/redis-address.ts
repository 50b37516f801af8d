// Addresses of Redis without its client, for programs that read settings and may not connect at all.

export { parseRedisAddress, type RedisAddress, type RedisHost, redactRedisUrl } from "./stores/redis/redis-url.ts";
