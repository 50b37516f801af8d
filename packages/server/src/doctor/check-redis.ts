import { connectRedis, parseRedisAddress, type RedisAddress } from "headgate/redis";
import type { Cluster, Redis } from "ioredis";
import { clockSkew } from "./clock-skew.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

const CONNECT_MS = 3_000;

/** Checks for settings that would make Redis lose or reject counters, or report a wrong time. */
export async function redisFindings(url: string): Promise<readonly Finding[]> {
  const address = parseRedisAddress(url);
  try {
    return await withClient(address, async (client) => {
      if (isCluster(client)) return clusterFindings(client);
      const about = await client.info();
      if (valueIn(about, "cluster_enabled") !== "1") return serverFindings(client, about);
      return [
        warn(
          "redis address",
          "--redis names a single node of a Redis Cluster: the others are found through it, but not while it is down. Name several, separated by commas",
        ),
        ...(await withClient({ ...address, kind: "cluster" }, async (cluster) =>
          isCluster(cluster) ? clusterFindings(cluster) : [],
        )),
      ];
    });
  } catch (error) {
    return [fail("redis", `${messageOf(error)}: check that it is running and that --redis is right`)];
  }
}

async function serverFindings(client: Redis, about: string): Promise<readonly Finding[]> {
  return [
    ok("redis", `answers, version ${valueIn(about, "redis_version")}`),
    role(about),
    eviction(about),
    await clock(client),
  ];
}

async function clusterFindings(client: Cluster): Promise<readonly Finding[]> {
  const masters = client.nodes("master");
  const findings = await Promise.all(masters.map(masterFindings));
  const bad = findings.flat().filter(({ level }) => level !== "ok");
  const count = `${masters.length} ${masters.length === 1 ? "master" : "masters"}`;
  return [
    ok("redis", `answers, a cluster with ${count}`),
    ...(bad.length > 0 ? bad : [ok("redis masters", "all are reachable, evict nothing, and agree on the time")]),
    ...(await coverage(client)),
  ];
}

async function masterFindings(master: Redis): Promise<readonly Finding[]> {
  const name = `${master.options.host}:${master.options.port}`;
  try {
    await connected(master);
    const about = await master.info();
    return [eviction(about), await clock(master)].map((finding) => ({ ...finding, about: `${finding.about} ${name}` }));
  } catch (error) {
    return [
      fail(
        `redis ${name}`,
        `the cluster announces this address, but it is unreachable from here: ${messageOf(error)}. Start the server, or let it announce a reachable address (cluster-announce-ip, cluster-announce-hostname)`,
      ),
    ];
  }
}

/** Whether the cluster is up, and stays up for the other keys when it loses a master. */
async function coverage(client: Cluster): Promise<readonly Finding[]> {
  const [node] = client.nodes("master").filter(({ status }) => status === "ready");
  if (node === undefined) return [];
  const about = await node.call("cluster", "info").then(String, () => "");
  if (valueIn(about, "cluster_state") !== "ok") {
    return [fail("redis cluster", "down: some slots have no master. See redis-cli --cluster check")];
  }
  const setting = await node.call("config", "get", "cluster-require-full-coverage").catch(() => []);
  if (!Array.isArray(setting) || String(setting[1]) !== "yes") return [ok("redis cluster", "up")];
  return [
    warn(
      "redis cluster",
      "cluster-require-full-coverage is yes: when one master fails, the cluster rejects all keys until the failover. Set it to no",
    ),
  ];
}

/** Runs a function with a connected client, and closes it. */
async function withClient<Result>(
  address: RedisAddress,
  use: (client: Redis | Cluster) => Promise<Result>,
): Promise<Result> {
  const client = await connectRedis(address);
  try {
    await connected(client);
    return await use(client);
  } finally {
    client.disconnect();
  }
}

/** Throws the first error if there is no connection in time. */
async function connected(client: Redis | Cluster): Promise<void> {
  if (client.status === "wait") client.connect().catch(() => {});
  await new Promise<void>((resolve, reject) => {
    let trouble = new Error(`no connection within ${CONNECT_MS} ms`);
    const timer = setTimeout(() => reject(trouble), CONNECT_MS);
    client.on("sentinelError", (error: Error) => {
      trouble = error;
    });
    client.on("error", (error: Error & { readonly lastNodeError?: Error }) => {
      clearTimeout(timer);
      reject(error.lastNodeError ?? (error.message.startsWith("All sentinels") ? trouble : error));
    });
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (client.status === "ready") done();
    else client.once("ready", done);
  });
  // A wrong password shows in the first reply at the latest.
  if (!isCluster(client)) await client.ping();
}

function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

async function clock(client: Redis): Promise<Finding> {
  const sent = Date.now();
  const [seconds, micros] = await client.time();
  return clockSkew("redis clock", Number(seconds) * 1000 + Number(micros) / 1000, sent, Date.now());
}

function role(about: string): Finding {
  const name = valueIn(about, "role");
  if (name === "master") return ok("redis role", "master");
  return fail("redis role", `this is a ${name}: counters can be written only on a master, so name that in --redis`);
}

function eviction(about: string): Finding {
  const policy = valueIn(about, "maxmemory_policy");
  if (policy === "noeviction") return ok("redis eviction", "noeviction");
  if (valueIn(about, "maxmemory") === "0") return ok("redis eviction", `${policy}, but memory is not limited`);
  return fail(
    "redis eviction",
    `maxmemory-policy is ${policy}: when memory is full, Redis drops counters, and limited clients get a new quota. Set noeviction, or use a separate server for counters`,
  );
}

function valueIn(about: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(about)?.[1] ?? "unknown";
}
