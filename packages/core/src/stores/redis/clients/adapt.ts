import { HeadgateError, shown } from "../../../errors.ts";
import { ioredisClient, isIoredis } from "./ioredis-client.ts";
import type { RedisClient } from "./redis-client.ts";

/** The client that a store was given, whichever library it is of. */
export function adapted(client: unknown): RedisClient {
  if (typeof client === "object" && client !== null) {
    if (isIoredis(client)) return ioredisClient(client);
    if (isRedisClient(client)) return client;
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    "server",
    `must be a URL, an ioredis client or a RedisClient, got ${shown(client)}`,
  );
}

function isRedisClient(client: object): client is RedisClient {
  return "send" in client && typeof client.send === "function";
}
