import { type Clock, type Limit, limitFromSpec, MemoryStore } from "headgate";
import { rateAlgorithms } from "../compare/compare-algorithms.ts";
import type { KeyRequests, SpooledRequests } from "./spooled-requests.ts";

export interface SuggestOptions {
  /** The share of keys that may be denied at least once, from 0 to 1. */
  readonly denyAtMost: number;
  readonly windowMs: number;
}

/** The smallest limit of one algorithm that denies few enough keys. */
export interface SuggestedLimit {
  readonly limit: Limit;
  /** Number of keys with a denied request under it. */
  readonly deniedKeys: number;
}

export interface Suggestions {
  /** Number of keys and requests that the suggestions rest on. */
  readonly keys: number;
  readonly requests: number;
  /** Number of keys that may be denied. */
  readonly mayDeny: number;
  /** One for each algorithm; empty without requests. */
  readonly limits: readonly SuggestedLimit[];
}

/**
 * Finds the smallest limits that deny at most a share of the keys. For algorithms with a burst, first the smallest limit
 * with a burst as large, then the smallest burst with that limit.
 */
export function suggestLimits(requests: SpooledRequests, { denyAtMost, windowMs }: SuggestOptions): Suggestions {
  const keys = requests.byKey().filter(({ total }) => total > 0);
  const mayDeny = Math.floor(denyAtMost * keys.length);
  const names = keys.length === 0 ? [] : rateAlgorithms();
  const limits = names.map(({ name, traits }): SuggestedLimit => {
    const spec = { algorithm: name, window: windowMs / 1000 };
    const smallest = smallestUnits(keys, mayDeny, (limit) => limitFromSpec({ ...spec, limit }));
    if (!traits.burst)
      return { limit: limitFromSpec({ ...spec, limit: smallest.units }), deniedKeys: smallest.deniedKeys };
    const withBurst = (burst: number): Limit => limitFromSpec({ ...spec, limit: smallest.units, burst });
    const { units: burst, deniedKeys } = smallestUnits(keys, mayDeny, withBurst, smallest);
    return { limit: withBurst(burst), deniedKeys };
  });
  return { keys: keys.length, requests: requests.size, mayDeny, limits };
}

interface SmallestUnits {
  readonly units: number;
  /** Number of keys denied under them. */
  readonly deniedKeys: number;
}

/**
 * Searches the smallest number of units under which at most `mayDeny` keys are denied. More units never deny a key that
 * fewer do not, so each step halves the range, and only keys on which the limits of the range differ are decided again.
 * `enough`: so many that no more than `mayDeny` keys are denied.
 */
function smallestUnits(
  keys: readonly KeyRequests[],
  mayDeny: number,
  limitOf: (units: number) => Limit,
  enough: SmallestUnits = { units: keys.reduce((most, { total }) => Math.max(most, total), 1), deniedKeys: 0 },
): SmallestUnits {
  const decider = new KeyDecider();
  // Keys known to be denied under every limit of the range, and those that may or may not be.
  let denied = 0;
  let open = keys;
  // Denies few enough: `high`. Denies too many: `low`.
  let [low, high] = [0, enough.units];
  let { deniedKeys } = enough;
  while (high - low > 1) {
    const units = low + Math.floor((high - low) / 2);
    const limit = limitOf(units);
    const [those, others]: [KeyRequests[], KeyRequests[]] = [[], []];
    for (const key of open) (decider.denies(limit, key) ? those : others).push(key);
    if (denied + those.length <= mayDeny) {
      high = units;
      denied += those.length;
      open = others;
      deniedKeys = denied;
    } else {
      low = units;
      open = those;
    }
  }
  return { units: high, deniedKeys };
}

/** Decides the requests of one key at a time. */
class KeyDecider {
  #time = 0;
  readonly #clock: Clock = {
    now: () => this.#time,
    sleep: () => Promise.reject(new Error("a suggestion does not wait")),
  };
  // The times of the next key begin earlier again.
  readonly #store = new MemoryStore({ clock: this.#clock, sweep: false });

  /** Whether a limit denies any request of a key. */
  denies(limit: Limit, requests: KeyRequests): boolean {
    if (requests.total <= limit.burst) return false;
    if (requests.largest > limit.burst) return true;
    const rule = { name: "suggested", counter: "suggested", limit };
    this.#store.apply("reset", [{ rule, key: "", cost: 0 }]);
    for (let i = 0; i < requests.size; i += 1) {
      this.#time = requests.timeAt(i);
      const [{ allowed }] = this.#store.apply("take", [{ rule, key: "", cost: requests.costAt(i) }]);
      if (!allowed) return true;
    }
    return false;
  }
}
