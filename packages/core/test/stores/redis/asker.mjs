// A process of its own that asks a Redis as it is told, and tells what it was answered and when.
import { Redis } from "ioredis";
import { limitFromSpec } from "../../../dist/esm/limits/spec.js";
import { RedisStore, redisOptions } from "../../../dist/esm/redis.js";

const PATIENCE_MS = 60_000;
const client = new Redis(process.argv[2], redisOptions);

/** Microseconds of the one clock that all processes of a machine share. */
function now() {
  return Number(process.hrtime.bigint() / 1000n);
}

async function ask(store, rule, { action, cost }) {
  const sent = now();
  const [{ allowed, remaining }] = await store.apply(action, [{ rule, key: "k", cost }]);
  return { action, cost, sent, received: now() + 1, allowed, remaining };
}

/** Takes one after the other until the time is over and enough have been sent; tells those that were admitted. */
async function hammer(store, rule, forMs, atLeast) {
  const end = now() + forMs * 1000;
  const admitted = [];
  let asked = 0;
  while (now() < end || asked < atLeast) {
    const answer = await ask(store, rule, { action: "take", cost: 1 });
    asked += 1;
    if (answer.allowed) admitted.push(answer);
  }
  return { asked, answered: admitted };
}

async function play(store, rule, requests) {
  const answered = [];
  for (const request of requests) answered.push(await ask(store, rule, request));
  return { asked: requests.length, answered };
}

/** All tasks of an order at once. */
process.on("message", async ({ prefix, tasks }) => {
  const store = new RedisStore(client, { prefix, timeoutMs: PATIENCE_MS });
  const work = tasks.map(({ name, spec, forMs, atLeast = 0, requests }) => {
    const rule = { name, limit: limitFromSpec(spec) };
    return requests === undefined ? hammer(store, rule, forMs, atLeast) : play(store, rule, requests);
  });
  process.send(await Promise.all(work));
});
process.on("disconnect", () => process.exit());
client.once("ready", () => process.send("ready"));
