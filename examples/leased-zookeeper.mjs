// Four processes share one limit through ZooKeeper. They take quota in batches and spend it locally, in requests of
// random size, until the limit is used up. Together they never admit more than the limit.
import cluster from "node:cluster";
import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { fixedWindow, leased, rateLimiter } from "headgate";
import { ZooKeeperStore } from "headgate/zookeeper";

const PROCESSES = 4;
const LIMIT = 100_000;
const LARGEST_REQUEST = 10;

if (cluster.isPrimary) {
  // A key of its own for each run: the quota of the last run is used up for a day.
  const key = process.env.KEY ?? `tenant-${randomUUID()}`;
  const workers = Array.from({ length: PROCESSES }, () => cluster.fork({ KEY: key }));
  await Promise.all(workers.map((worker) => once(worker, "message")));
  for (const worker of workers) worker.send("start");
  const results = await Promise.all(workers.map(async (worker) => (await once(worker, "message"))[0]));
  for (const { pid, requests, units, roundTrips } of results) {
    console.log(`process ${pid}: ${requests} requests, ${units} units, ${roundTrips} round trips`);
  }
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const perThousand = (1000 * sum("roundTrips")) / sum("requests");
  console.log(`together: ${sum("units")} of ${LIMIT} units, ${perThousand.toFixed(1)} round trips per 1000 requests`);
} else {
  const inner = new ZooKeeperStore(process.env.ZOOKEEPER ?? "127.0.0.1:2181");
  const store = leased(inner);
  const limiter = rateLimiter({ api: fixedWindow(`${LIMIT}/d`, { anchor: "request" }) }, { store });
  await inner.ready();
  process.send("ready");
  await once(process, "message");

  let requests = 0;
  let units = 0;
  let cost;
  let decision;
  do {
    cost = randomInt(1, LARGEST_REQUEST + 1);
    decision = await limiter.check("api", process.env.KEY, { cost });
    if (decision.allowed) {
      requests += 1;
      units += cost;
    }
    // Other work of the process: without it, one process would use up the limit before the others have started.
    if (requests % 20 === 0) await setImmediate();
    // A large request may be denied while a small one still fits. Nothing is left when a request of 1 is denied.
  } while (decision.allowed || cost > 1);

  process.send({ pid: process.pid, requests, units, roundTrips: store.stats.roundTrips });
  await store.close(); // returns what is left of the lease, for the other processes
  process.disconnect();
}
