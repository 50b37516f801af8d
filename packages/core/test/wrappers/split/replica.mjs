// A replica in a separate process: sends requests for one key continuously, and reports to its parent what passed.
import { Redis } from "ioredis";
import { fixedWindow, rateLimiter, SystemClock } from "../../../dist/esm/index.js";
import { split } from "../../../dist/esm/redis.js";

const { url, limit, windowMs, beatMs, leaseMs } = JSON.parse(process.argv[2]);
const system = new SystemClock();
let decidedAt = 0;
const clock = {
  now() {
    decidedAt = system.now();
    return decidedAt;
  },
  sleep: (ms, signal) => system.sleep(ms, signal),
};
const store = split(new Redis(url), { group: "processes", beatMs, leaseMs, clock });
const limiter = rateLimiter({ api: fixedWindow({ limit, windowMs }) }, { store, clock });

let share = 0;
let latest = system.now();

async function ask() {
  const stoodStill = system.now() - latest > leaseMs * 1000;
  latest = system.now();
  // Once it was asked for, the stats have it.
  await limiter.peek("api", "k").catch(() => {});
  const now = store.stats.shares.api?.limit ?? 0;
  const raised = Math.max(0, now - share);
  share = now;
  let failure;
  const decision = await limiter.check("api", "k").catch((error) => {
    failure = error.code;
  });
  const admitted = decision?.allowed ? 1 : 0;
  const window = Math.floor(decidedAt / (windowMs * 1000));
  if (stoodStill || raised > 0 || admitted > 0) process.send({ window, raised, admitted, stoodStill, failure });
}

setInterval(ask, 2);
