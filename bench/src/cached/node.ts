// One of the processes that share a limit.
import { once } from "node:events";
import { cached, fixedWindow, type Store } from "headgate";
import { RedisStore, redisOptions } from "headgate/redis";
import { Redis } from "ioredis";
import { Latencies } from "../redis/latencies.ts";
import { HEADGATE } from "../suite.ts";
import type { NodeFigures, NodeOrders } from "./measure.ts";
import { UNCONFIRMED } from "./suite.ts";

const IN_FLIGHT = 64;
/** Checks answered without a round trip yield to the event loop after this many. */
const CHECKS_PER_TURN = 64;
const TIMEOUT_MS = 30_000;
const LONG_MS = 10 * 365 * 86_400_000;

// Exit when the measuring process is killed.
process.once("disconnect", () => process.exit());

const { subject, address, run, traffic }: NodeOrders = JSON.parse(process.argv[2] ?? "{}");
const { keys, limit, checksPerKey, perSecond } = traffic;
// Long waits should show in the figures instead of failing.
const client = new Redis(address, { ...redisOptions, socketTimeout: TIMEOUT_MS });
const redis = new RedisStore(client, { timeoutMs: TIMEOUT_MS });
await redis.ready();
const near = subject === HEADGATE ? undefined : cached(redis, { confirm: subject !== UNCONFIRMED });
const store: Store = near ?? redis;
const rule = { name: run, limit: fixedWindow({ limit, windowMs: LONG_MS }) };
const order = shuffled(Array.from({ length: keys * checksPerKey }, (_, i) => `user:${i % keys}`));
const latencies = new Latencies();
let allowed = 0;

async function check(key: string): Promise<void> {
  const asked = performance.now();
  const answers = store.apply("take", [{ rule, key, cost: 1 }]);
  const [answer] = "then" in answers ? await answers : answers;
  latencies.add(performance.now() - asked);
  if (answer.allowed) allowed += 1;
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function asFastAsItCan(): Promise<void> {
  let at = 0;
  const caller = async (): Promise<void> => {
    while (at < order.length) {
      at += 1;
      await check(order[at - 1]);
      if (at % CHECKS_PER_TURN === 0) await turn();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
}

async function steadily(each: number): Promise<void> {
  const began = performance.now();
  const checks: Promise<void>[] = [];
  while (checks.length < order.length) {
    const due = Math.min(order.length, ((performance.now() - began) / 1000) * each);
    while (checks.length < due) checks.push(check(order[checks.length]));
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  await Promise.all(checks);
}

function shuffled(list: string[]): string[] {
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

process.send?.("ready");
await once(process, "message");
const start = performance.now();
await (perSecond === undefined ? asFastAsItCan() : steadily(perSecond));
const figures: NodeFigures = {
  checks: order.length,
  allowed,
  elapsedMs: performance.now() - start,
  p50: latencies.percentile(0.5),
  p99: latencies.percentile(0.99),
};
process.send?.(figures, () => void (near ?? redis).close().finally(() => process.exit()));
