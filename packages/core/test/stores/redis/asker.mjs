// A separate process that sends requests to Redis on demand, and reports the answers and their times.
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

/** Takes one after the other until the time is over and enough have been sent; reports those that were admitted. */
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

/** Asks for the first of several rules for a number of requests; reports which rule each was charged to, if any. */
async function chooseFirst(store, rules, requests) {
  const chosen = [];
  for (let i = 0; i < requests; i += 1) {
    const answers = await store.apply(
      "takeFirst",
      rules.map((rule) => ({ rule, key: "k", cost: 1 })),
    );
    chosen.push(answers.findIndex(({ allowed }) => allowed));
  }
  return chosen;
}

/** All tasks of an order at once. */
process.on("message", async ({ prefix, tasks, alternatives, requests }) => {
  const store = new RedisStore(client, { prefix, timeoutMs: PATIENCE_MS });
  if (alternatives !== undefined) {
    const rules = alternatives.map((spec, i) => ({ name: `rule${i}`, limit: limitFromSpec(spec) }));
    // Several at a time, so that requests of one process overlap too.
    const chosen = await Promise.all(Array.from({ length: 4 }, () => chooseFirst(store, rules, requests / 4)));
    process.send(chosen.flat());
    return;
  }
  const work = tasks.map(({ name, spec, forMs, atLeast = 0, requests }) => {
    const rule = { name, limit: limitFromSpec(spec) };
    return requests === undefined ? hammer(store, rule, forMs, atLeast) : play(store, rule, requests);
  });
  process.send(await Promise.all(work));
});
process.on("disconnect", () => process.exit());
client.once("ready", () => process.send("ready"));
