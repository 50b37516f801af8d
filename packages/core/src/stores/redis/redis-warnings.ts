import type { Redis } from "ioredis";
import { warn } from "../../warning.ts";
import { isCluster, type RedisClient, whenReady } from "./redis-connection.ts";

/** Clients for which a warning was emitted, because stores may share one. */
const warned = new WeakSet<RedisClient>();
/** Clients whose servers are being checked. */
const looking = new WeakSet<RedisClient>();

/** Warns about settings that may make servers lose counters or count twice. */
export function warnOfServer(client: RedisClient, unsafe: readonly string[]): void {
  if (unsafe.length > 0 && !warned.has(client)) {
    warned.add(client);
    warn(
      "HG_UNSAFE_CLIENT",
      `this ioredis client may charge a request twice or keep one waiting: ${unsafe.join("; ")}. Create it with redisOptions (clusterOptions) of headgate/redis`,
    );
  }
  if (looking.has(client)) return;
  looking.add(client);
  whenReady(client, () => {
    void evictionPolicy(client).then((policy) => {
      looking.delete(client);
      if (policy === undefined) return;
      warn(
        "HG_EVICTION",
        `this Redis has the maxmemory-policy ${policy}: when memory runs out, it drops counters, which lifts limits. Set noeviction, or use a separate server for counters`,
      );
    });
  });
}

/** The eviction policy if it would drop counters, all of which have a time to live. */
async function evictionPolicy(client: RedisClient): Promise<string | undefined> {
  const servers = isCluster(client) ? client.nodes("master") : [client];
  const policies = await Promise.all(servers.map(policyOf));
  return policies.find((policy) => policy !== undefined);
}

async function policyOf(server: Redis): Promise<string | undefined> {
  try {
    const info = String(await server.call("info", "memory"));
    const value = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
    const policy = value("maxmemory_policy");
    return value("maxmemory") !== "0" && policy !== "" && policy !== "noeviction" ? policy : undefined;
  } catch {
    // Not every user has the permission.
    return undefined;
  }
}
