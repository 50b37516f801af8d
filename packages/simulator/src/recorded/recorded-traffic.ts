import { type Action, type Answer, type Clock, type Limit, MemoryStore } from "headgate";

/** A request, or a correction of the usage, as a service has recorded it under one rule. */
export interface RecordedRequest {
  /** In microseconds since the epoch. */
  readonly time: number;
  readonly key: string;
  readonly action: Extract<Action, "take" | "penalize" | "refund" | "reset">;
  readonly cost: number;
  /** A second request of the key with the same one and the same time is a retry, which is not counted. */
  readonly idempotencyKey?: string | undefined;
  /** What the store answered, if it is known. */
  readonly answer?: Given | undefined;
}

/** How much of a limit was in use, in whole units. */
export interface RecordedLevel {
  /** In microseconds since the epoch. */
  readonly time: number;
  readonly used: number;
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
    applyAll(this.#entries, limit, ({ action, key }, { allowed }) => {
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
    applyAll(this.#entries, limit, ({ key }, { remaining }) => {
      const peak = peaks.get(key);
      const used = limit.burst - remaining;
      if (peak !== undefined && used > peak) peaks.set(key, used);
    });
    return [...peaks.values()];
  }

  /**
   * How much of a limit the only key of the requests had in use at some times. Begins with the first request from
   * which on the limit answers as the store did: before that, something was counted that was not recorded.
   */
  levels(limit: Limit, times: Iterable<number>): readonly RecordedLevel[] {
    const keys = new Set(this.#entries.map(({ key }) => key));
    if (keys.size > 1) throw new Error("the requests are of several keys");
    const [key] = keys;
    if (key === undefined) return [];
    const moments = [...times].map((time) => ({ time, key, action: "peek" as const, cost: 1 }));
    const levels: RecordedLevel[] = [];
    let isKnown = false;
    // At the same time, requests come first.
    const all = [...this.#entries, ...moments].sort((a, b) => a.time - b.time);
    applyAll(all, limit, (entry, answer) => {
      if (entry.action === "peek") {
        // As the service tells it: a fraction of a unit cannot be used.
        if (isKnown) levels.push({ time: entry.time, used: limit.burst - Math.floor(answer.remaining) });
      } else {
        isKnown = entry.answer?.allowed === answer.allowed && entry.answer.remaining === answer.remaining;
        if (!isKnown) levels.length = 0;
      }
    });
    return levels;
  }
}

type Given = Pick<Answer, "allowed" | "remaining">;

/** Applies them on virtual time. They must be in order of time. */
function applyAll<
  Entry extends { readonly time: number; readonly key: string; readonly action: Action; readonly cost: number },
>(entries: readonly Entry[], limit: Limit, each: (entry: Entry, answer: Given) => void): void {
  let time = 0;
  const clock: Clock = { now: () => time, sleep: () => Promise.reject(new Error("a replay does not wait")) };
  const store = new MemoryStore({ clock, maxKeys: Number.MAX_SAFE_INTEGER });
  const rule = { name: "recorded", limit };
  for (const entry of entries) {
    const { action, key, cost } = entry;
    time = entry.time;
    const [answer] = store.apply(action, [{ rule, key, cost }]);
    each(entry, answer);
  }
}
