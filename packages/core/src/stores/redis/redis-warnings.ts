import { warn } from "../../warning.ts";
import type { RedisClient, RedisConnection } from "./clients/redis-client.ts";

/** Clients for which a warning was emitted, because stores may share one. */
const warned = new WeakSet<RedisClient>();
/** Clients whose servers are being checked. */
const looking = new WeakSet<RedisClient>();

/** Warns about settings of a client that was handed in. */
export function warnOfSettings(client: RedisClient): void {
  const unsafe = client.unsafeSettings ?? [];
  if (unsafe.length === 0 || warned.has(client)) return;
  warned.add(client);
  warn(
    "HG_UNSAFE_CLIENT",
    `this Redis client may charge a request twice or keep one waiting: ${unsafe.join("; ")}. See docs/stores/redis.md`,
  );
}

/** Warns about servers that may drop counters. */
export function warnOfEviction(client: RedisClient): void {
  if (looking.has(client)) return;
  looking.add(client);
  let isFirst = true;
  const look = (): void => {
    if (!isFirst) return;
    isFirst = false;
    void evictionPolicy(client).then((policy) => {
      looking.delete(client);
      if (policy === undefined) return;
      warn(
        "HG_EVICTION",
        `this Redis has the maxmemory-policy ${policy}: when memory runs out, it drops counters, which lifts limits. Set noeviction, or use a separate server for counters`,
      );
    });
  };
  if (client.onReady === undefined) look();
  else client.onReady(look);
}

/** The eviction policy if it would drop counters, all of which have a time to live. */
async function evictionPolicy(client: RedisClient): Promise<string | undefined> {
  const { cluster } = client;
  const servers = cluster === undefined ? [client] : cluster.masters().map((name) => cluster.connectionTo(name));
  const policies = await Promise.all(servers.map(policyOf));
  return policies.find((policy) => policy !== undefined);
}

async function policyOf(server: RedisConnection | undefined): Promise<string | undefined> {
  try {
    const info = String(await server?.send(["INFO", "memory"]));
    const value = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
    const policy = value("maxmemory_policy");
    return value("maxmemory") !== "0" && policy !== "" && policy !== "noeviction" ? policy : undefined;
  } catch {
    // Not every user has the permission.
    return undefined;
  }
}
