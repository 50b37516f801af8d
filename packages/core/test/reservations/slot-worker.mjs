// A process that runs tasks in slots, one after the other, and reports each moment in which one of them works.
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { concurrency, rateLimiter } from "../../dist/esm/index.js";
import { RedisStore } from "../../dist/esm/redis.js";

const [url, prefix, name, limit, forMs] = process.argv.slice(2);
const store = new RedisStore(url, { prefix, timeoutMs: 60_000 });
await store.ready();
const limiter = rateLimiter({ slots: concurrency(Number(limit)) }, { store });
let isStopping = false;
process.on("message", () => {
  isStopping = true;
});
process.on("disconnect", () => process.exit());

/** Works until its time is up or it is told to stop. */
async function work(task, signal) {
  for (let step = 0; step < 60; step += 1) {
    await delay(10);
    const at = Date.now();
    // After a pause, the timers that are due come first, among them the one that notices that the lease has ended.
    await turn();
    if (signal.aborted) {
      process.send({ aborted: task, code: signal.reason.code });
      return;
    }
    process.send({ task, at });
  }
}

async function loop(worker) {
  for (let i = 0; !isStopping; i += 1) {
    const task = `${name} ${worker} ${i}`;
    await limiter.run("slots", "team", (signal) => work(task, signal), { forMs: Number(forMs), maxWaitMs: 1_000 });
  }
}

process.send({ ready: true });
await Promise.all([loop("a"), loop("b")]);
process.send({ stopped: true });
