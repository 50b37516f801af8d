import { Redis } from "ioredis";
import { clockSkew } from "./clock-skew.ts";
import { type Finding, fail, messageOf, ok } from "./finding.ts";

/** What the server of counters must be like, lest it forgets counters or lies about the time. */
export async function redisFindings(url: string): Promise<readonly Finding[]> {
  let trouble: unknown;
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 3_000, retryStrategy: () => null });
  client.on("error", (error) => {
    trouble ??= error;
  });
  try {
    await client.connect();
    const sent = Date.now();
    const [seconds, micros] = await client.time();
    const answered = Date.now();
    const about = await client.info();
    return [
      ok("redis", `answers, version ${valueIn(about, "redis_version")}`),
      role(about),
      eviction(about),
      clockSkew("redis clock", Number(seconds) * 1000 + Number(micros) / 1000, sent, answered),
    ];
  } catch (error) {
    return [fail("redis", `cannot be used: ${messageOf(trouble ?? error)}: is it running, and is --redis right?`)];
  } finally {
    client.disconnect();
  }
}

function role(about: string): Finding {
  const name = valueIn(about, "role");
  if (name === "master") return ok("redis role", "master");
  return fail("redis role", `this is a ${name}: counters can be written at a master only, so name that in --redis`);
}

function eviction(about: string): Finding {
  const policy = valueIn(about, "maxmemory_policy");
  if (policy === "noeviction") return ok("redis eviction", "noeviction");
  if (valueIn(about, "maxmemory") === "0") return ok("redis eviction", `${policy}, but memory has no bound`);
  return fail(
    "redis eviction",
    `maxmemory-policy is ${policy}: when memory runs out it drops counters, and who is limited becomes free. Set noeviction, or give counters a server of their own`,
  );
}

function valueIn(about: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(about)?.[1] ?? "unknown";
}
