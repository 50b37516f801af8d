// One node of several: sends requests through cached() at a steady rate, and reports what was admitted and when.
import { cached, fixedWindow } from "headgate";
import { RedisStore } from "headgate/redis";

const { url, limit, windowMs, flushMs, perMs, forMs } = JSON.parse(process.argv[2]);
// On a busy machine, a healthy Redis may take longer than the default deadline.
const redis = new RedisStore(url, { timeoutMs: 30_000 });
/** When the first of the requests not yet written was admitted; and for each write, how long that was before its answer. */
let unwrittenSince;
const lags = [];
const timed = {
  clock: redis.clock,
  async apply(action, operations, options) {
    const since = unwrittenSince;
    if (action === "penalize") unwrittenSince = undefined;
    const answers = await redis.apply(action, operations, options);
    if (action === "penalize") lags.push({ since, ms: redis.clock.now() / 1000 - since });
    return answers;
  },
  close: () => redis.close(),
};
const store = cached(timed, { confirm: false, flushMs });
const rule = { name: "each", limit: fixedWindow({ limit, windowMs }) };
// The first answer contains the server's time.
await store.apply("peek", [{ rule, key: "warm", cost: 1 }]);

process.send("ready");
await new Promise((resolve) => process.once("message", resolve));

const letIn = [];
const began = performance.now();
for (let asked = 0; performance.now() - began < forMs; ) {
  for (const due = (performance.now() - began) * perMs; asked < due; asked += 1) {
    const at = store.clock.now() / 1000;
    const [{ allowed }] = store.apply("take", [{ rule, key: "k", cost: 1 }]);
    if (!allowed) continue;
    unwrittenSince ??= at;
    letIn.push(at);
  }
  await new Promise((resolve) => setTimeout(resolve, 1));
}
const { stats } = store;
await store.close();
process.send({ letIn, lags, stats }, () => process.disconnect());
