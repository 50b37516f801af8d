// One of the processes that share a quota.
import { once } from "node:events";
import { Latencies } from "../redis/latencies.ts";
import { load } from "../redis/load.ts";
import type { NodeFigures, NodeOrders } from "./measure.ts";
import { openSubject } from "./subjects.ts";

const IN_FLIGHT = 64;
/** Checks answered without a round trip yield to the event loop after this many. */
const CHECKS_PER_TURN = 64;
/** Processes start with different keys. */
const PLACES_APART = 97;

// Exit when the measuring process is killed.
process.once("disconnect", () => process.exit());

const { suite, subject, address, keys, place, warmUpMs, timedMs }: NodeOrders = JSON.parse(process.argv[2] ?? "{}");
const names = Array.from({ length: keys }, (_, i) => `user:${i}`);
let at = place * PLACES_APART;
const nextKey = (): string => {
  at = (at + 1) % names.length;
  return names[at];
};
const { checker, roundTrips, close } = await openSubject(suite, subject, { address, keys: names });
process.send?.("ready");
await once(process, "message");

const latencies = new Latencies();
const callers = { inFlight: IN_FLIGHT, nextKey, checksPerTurn: CHECKS_PER_TURN };
await load(checker, { ...callers, took: () => {} }, warmUpMs);
const before = roundTrips();
const start = performance.now();
const { checks, allowed } = await load(checker, { ...callers, took: (ms) => latencies.add(ms) }, timedMs);
if (allowed !== checks) throw new Error(`allowed ${allowed} of ${checks} checks`);
const figures: NodeFigures = {
  checks,
  // Until the last reply: where hundreds wait for one lock, that is much later than the last request.
  elapsedMs: performance.now() - start,
  p99: latencies.percentile(0.99),
  roundTrips: roundTrips() - before,
};
process.send?.(figures, () => void close().finally(() => process.exit()));
