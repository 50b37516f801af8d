import { StoreError } from "headgate";
import type { Stores } from "../checks/counter-stores.ts";
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

function mayPass(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code !== "HG_STORE_REFUSED" || PASSING.test(error.message));
}
