import { type DegradedChange, HeadgateError } from "headgate";
import type { StoreState, Stores } from "../checks/counter-stores.ts";
import type { Log } from "./log.ts";

/** Interval of log lines about a store that keeps failing; it counts as partly reachable that long. */
const REPORT_MS = 60_000;
const RECENT_MS = 10_000;

/** Tracks whether the store of counters answers, and logs changes. */
export class StoreHealth {
  readonly #log: Log;
  readonly #now: () => number;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  changed(change: DegradedChange): void {
    const { node } = change;
    const what = node === undefined ? "the store" : `server ${node} of the store`;
    if (change.degraded) {
      this.#log.error({ code: codeOf(change.cause), node, err: change.cause }, `${what} is down: on_error decides`);
    } else this.#log.info({ node, after_ms: Math.round(change.afterMs) }, `${what} is back`);
  }

  /**
   * A store that fails some calls and answers others in between never opens the breaker, and would silently send some
   * users to the fallback.
   */
  failed(code: string, cause: unknown): void {
    if (code !== "HG_STORE_REFUSED") return;
    this.#refusedAt = this.#now();
    if (this.#refusedAt - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = this.#refusedAt;
    this.#log.error({ code, err: cause }, "the store rejects calls: on_error decides for these");
  }

  /** Undefined if counters are kept in memory only. */
  stateOf({ stats: { resilient }, nodes }: Pick<Stores, "stats" | "nodes">): StoreState | undefined {
    if (resilient === undefined) return undefined;
    const open = resilient.openNodes.length;
    if (open === 0) return this.#now() - this.#refusedAt < RECENT_MS ? "partial" : "reachable";
    return open < (nodes?.all().length ?? 1) ? "partial" : "unreachable";
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof HeadgateError ? error.code : undefined;
}
