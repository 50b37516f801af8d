import { Redis } from "ioredis";
import type { AsyncChecker } from "../subjects/subject.ts";
import type { Figures, Task } from "../suite.ts";
import { KeyStrings } from "../traffic/key-strings.ts";
import { uniformSequence } from "../traffic/sequences.ts";
import { costOf } from "./cost.ts";
import { Latencies } from "./latencies.ts";
import { load, type Tally } from "./load.ts";
import { type Reading, workloadName } from "./readings.ts";
import { loadSharedSubject } from "./subjects/registry.ts";
import { traffics } from "./traffics.ts";

const LEAST_WARM_UP_MS = 500;
/** A check costs twice as much until V8 has optimized its code, which takes up to 12,000 checks if they come one by one. */
const WARM_UP_CHECKS = 20_000;
const INSERTED_AT_ONCE = 256;

export async function measureShared({ experiment, subject, timedMs, address }: Task): Promise<Figures> {
  if (address === undefined) throw new Error("there is no Redis to measure on");
  const traffic = traffics[experiment];
  const strings = new KeyStrings(traffic.keys);
  const keys = Array.from({ length: traffic.keys }, (_, i) => strings.make(i));
  const redis = new Redis(address);
  // Leftovers of other subjects must not affect this one.
  await redis.flushall();
  const checker = await (await loadSharedSubject(subject))({ ...traffic, url: address });
  // Keys that are to be denied use up their limit first.
  for (let i = 0; i < (traffic.denied ? traffic.limit : 1); i += 1) await insert(checker, keys);

  const latencies = new Latencies();
  const callers = {
    inFlight: traffic.inFlight,
    nextKey: keysAtRandom(keys),
    checksPerTurn: traffic.denied ? 64 : Number.POSITIVE_INFINITY,
    took: (ms: number) => latencies.add(ms),
  };
  const warmUpMs = Math.max(LEAST_WARM_UP_MS, timedMs / 2);
  await load(checker, { ...callers, took: () => {} }, warmUpMs, WARM_UP_CHECKS);
  const { result, elapsedMs, clientMs, redisMs } = await costOf(redis, () => load(checker, callers, timedMs));
  requireDecisions(result, traffic.denied ? 0 : 1);

  const { checks } = result;
  const figures: Readonly<Record<Reading, number>> = {
    rate: checks / elapsedMs,
    p50: latencies.percentile(0.5),
    p99: latencies.percentile(0.99),
    client: checks / clientMs,
    redis: checks / redisMs,
  };
  return Object.fromEntries(traffic.readings.map((reading) => [workloadName(experiment, reading), figures[reading]]));
}

/** Inserts all keys before the measurement. */
async function insert(checker: AsyncChecker, keys: readonly string[]): Promise<void> {
  for (let i = 0; i < keys.length; i += INSERTED_AT_ONCE) {
    await Promise.all(keys.slice(i, i + INSERTED_AT_ONCE).map((key) => checker.check(key)));
  }
}

function keysAtRandom(keys: readonly string[]): () => string {
  const sequence = uniformSequence(keys.length);
  let at = 0;
  return () => {
    at = (at + 1) % sequence.length;
    return keys[sequence[at]];
  };
}

/** A limiter that decides incorrectly is not fast. */
function requireDecisions({ allowed, checks }: Tally, expected: number): void {
  if (allowed === expected * checks) return;
  throw new Error(`allowed ${((100 * allowed) / checks).toFixed(2)}% of the checks, not ${100 * expected}%`);
}
