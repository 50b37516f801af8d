import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "headgate";
import type { Stores } from "../checks/counter-stores.ts";
import type { RateLimitRule } from "../rules/rule.ts";
import type { Log } from "./log.ts";

/** Error replies of Redis that may be temporary. */
const PASSING = /\((LOADING|BUSY|OOM|MISCONF|CLUSTERDOWN|MASTERDOWN)\b/;

/**
 * Connects to the store of counters. A node starts without it too, because rules define what happens then; but not if
 * the store rejects the node, because waiting does not change that.
 */
export async function reachStore(stores: Pick<Stores, "ready" | "probe" | "stats">, log: Log): Promise<void> {
  try {
    await stores.ready();
  } catch (error) {
    if (!mayPass(error)) throw error;
    // Until the breaker opens, so that no check waits for a store known to be down.
    while (stores.stats.resilient?.breaker === "closed") if (await stores.probe()) return;
    log.error({ code: error.code, err: error }, "started without the store: on_error decides until it is reachable");
  }
}

/** How long a node waits for its share when it starts. Other nodes shrink theirs within a few hundred milliseconds. */
const SHARE_MS = 3_000;

/** Joins the other nodes if a rule is split among them, so that the first checks find a share. */
export async function joinNodes(
  { join }: Pick<Stores, "join">,
  rules: readonly Pick<RateLimitRule, "rule_id" | "consistency">[],
  log: Log,
): Promise<void> {
  const first = rules.find(({ consistency }) => consistency === "split");
  if (first === undefined) return;
  if (join === undefined) {
    log.warn({ rule_id: first.rule_id }, "consistency split requires Redis: rules with it are decided as strict");
    return;
  }
  const waiting = new AbortController();
  const late = delay(SHARE_MS, false, { signal: waiting.signal }).catch(() => false);
  const hasShare = await Promise.race([
    join().then(
      () => true,
      () => false,
    ),
    late,
  ]);
  waiting.abort();
  if (!hasShare) log.warn("no share yet of rules with consistency split: on_error decides until the node has one");
}

function mayPass(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code !== "HG_STORE_REFUSED" || PASSING.test(error.message));
}
