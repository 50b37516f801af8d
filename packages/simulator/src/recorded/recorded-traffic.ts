import { type Action, type Clock, type Limit, MemoryStore } from "headgate";

/** A request, or a correction of the usage, as a service has recorded it under one rule. */
export interface RecordedRequest {
  /** In microseconds since the epoch. */
  readonly time: number;
  readonly key: string;
  readonly action: Extract<Action, "take" | "penalize" | "refund" | "reset">;
  readonly cost: number;
  /** A second request of the key with the same one and the same time is a retry, which is not counted. */
  readonly idempotencyKey?: string | undefined;
}

/** What a limit decides for the recorded requests. */
export interface RecordedDenials {
  readonly requests: number;
  readonly denied: number;
  readonly keys: number;
  /** Number of keys with a denied request. */
  readonly deniedKeys: number;
}

/** The recorded requests of one rule, to be decided again under other limits. */
export class RecordedTraffic {
  /** In order of time, without retries. */
  readonly #entries: readonly RecordedRequest[];
  readonly #keys: ReadonlySet<string>;

  constructor(entries: Iterable<RecordedRequest>) {
    const counted = new Map<string | RecordedRequest, RecordedRequest>();
    for (const entry of entries) {
      const { key, time, idempotencyKey } = entry;
      counted.set(idempotencyKey === undefined ? entry : JSON.stringify([key, time, idempotencyKey]), entry);
    }
    this.#entries = [...counted.values()].sort((a, b) => a.time - b.time);
    this.#keys = new Set(this.#entries.filter(({ action }) => action === "take").map(({ key }) => key));
  }

  replay(limit: Limit): RecordedDenials {
    const deniedKeys = new Set<string>();
    let [requests, denied] = [0, 0];
    this.#apply(limit, ({ action, key }, { allowed }) => {
      if (action !== "take") return;
      requests += 1;
      if (allowed) return;
      denied += 1;
      deniedKeys.add(key);
    });
    return { requests, denied, keys: this.#keys.size, deniedKeys: deniedKeys.size };
  }

  /**
   * The largest usage of each key, in units. `limit` says in which window, and must be so large that it denies nothing.
   */
  peaks(limit: Limit): readonly number[] {
    const peaks = new Map<string, number>();
    for (const key of this.#keys) peaks.set(key, 0);
    this.#apply(limit, ({ key }, { remaining }) => {
      const peak = peaks.get(key);
      const used = limit.burst - remaining;
      if (peak !== undefined && used > peak) peaks.set(key, used);
    });
    return [...peaks.values()];
  }

  #apply(
    limit: Limit,
    each: (entry: RecordedRequest, answer: { readonly allowed: boolean; readonly remaining: number }) => void,
  ): void {
    let time = 0;
    const clock: Clock = { now: () => time, sleep: () => Promise.reject(new Error("a replay does not wait")) };
    const store = new MemoryStore({ clock, maxKeys: Number.MAX_SAFE_INTEGER });
    const rule = { name: "recorded", limit };
    for (const entry of this.#entries) {
      const { action, key, cost } = entry;
      time = entry.time;
      const [answer] = store.apply(action, [{ rule, key, cost }]);
      each(entry, answer);
    }
  }
}
