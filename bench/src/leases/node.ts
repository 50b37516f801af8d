// One of the processes that share a quota.
import { fixedWindow, rateLimiter } from "headgate";
import { Latencies } from "../redis/latencies.ts";
import { load } from "../redis/load.ts";
import type { NodeFigures, NodeOrders } from "./measure.ts";
import { openSubject } from "./subjects.ts";

const IN_FLIGHT = 64;
/** Whoever is answered without a round trip lets the network have a turn now and then. */
const CHECKS_PER_TURN = 64;

const { subject, address, keys, place, warmUpMs, timedMs }: NodeOrders = JSON.parse(process.argv[2] ?? "{}");
const { store, roundTrips, close } = await openSubject(subject, address);
const limiter = rateLimiter({ api: fixedWindow({ limit: 10 ** 12, windowMs: 3_600_000 }) }, { store });
const checker = {
  kind: "async",
  check: (key: string) => limiter.check("api", key),
  allowed: (decision: object) => "allowed" in decision && decision.allowed === true,
} as const;
const names = Array.from({ length: keys }, (_, i) => `user:${i}`);
let at = place * 97;
const nextKey = (): string => {
  at = (at + 1) % names.length;
  return names[at];
};
const latencies = new Latencies();
const callers = { inFlight: IN_FLIGHT, nextKey, checksPerTurn: CHECKS_PER_TURN };
await load(checker, { ...callers, took: () => {} }, warmUpMs);
const before = roundTrips?.() ?? 0;
const { checks, allowed } = await load(checker, { ...callers, took: (ms) => latencies.add(ms) }, timedMs);
if (allowed !== checks) throw new Error(`allowed ${allowed} of ${checks} checks`);
const figures: NodeFigures = {
  checks,
  p99: latencies.percentile(0.99),
  roundTrips: roundTrips === undefined ? checks : roundTrips() - before,
};
process.send?.(figures, () => void close().finally(() => process.exit()));
