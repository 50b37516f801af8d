import { HeadgateError, shown } from "../../../errors.ts";
import { type IoredisLike, ioredisClient, isIoredis } from "./ioredis-client.ts";
import {
  isNodeRedis,
  isNodeRedisCluster,
  type NodeRedis,
  type NodeRedisCluster,
  nodeRedisClient,
} from "./node-redis-client.ts";
import type { RedisClient } from "./redis-client.ts";

/** The clients that a store can be given. */
export type AnyRedisClient = IoredisLike | NodeRedis | NodeRedisCluster | RedisClient;

/** A client of any of these libraries. `also` names what else the caller accepts in this field. */
export function adapted(client: unknown, field = "server", also = "a URL"): RedisClient {
  if (typeof client === "object" && client !== null) {
    if (isIoredis(client)) return ioredisClient(client);
    if (isNodeRedis(client) || isNodeRedisCluster(client)) return nodeRedisClient(client);
    if (isRedisClient(client)) return client;
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    field,
    `must be ${also}, a client of ioredis, iovalkey or redis, or a RedisClient, got ${shown(client)}`,
  );
}

function isRedisClient(client: object): client is RedisClient {
  return "send" in client && typeof client.send === "function";
}
