import { StoreError } from "headgate";
import type { Stores } from "../checks/counter-stores.ts";
import type { Log } from "./log.ts";

/** What Redis says while something is the matter with it that may pass. */
const PASSING = /\((LOADING|BUSY|OOM|MISCONF|CLUSTERDOWN|MASTERDOWN)\b/;

/**
 * Connects to the store of counters. A node comes up without it too, for the rules say what then holds; but not if
 * the store is there and will not have this node, which waiting does not mend.
 */
export async function reachStore(stores: Pick<Stores, "ready" | "probe" | "stats">, log: Log): Promise<void> {
  try {
    await stores.ready();
  } catch (error) {
    if (!mayPass(error)) throw error;
    // Until it is given up: no check shall wait for what is known to be gone.
    while (stores.stats.resilient?.breaker === "closed") if (await stores.probe()) return;
    log.error({ code: error.code, err: error }, "started without the store: on_error decides until it is reachable");
  }
}

function mayPass(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code !== "HG_STORE_REFUSED" || PASSING.test(error.message));
}
