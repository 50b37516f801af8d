import { HeadgateError, shown } from "../errors.ts";
import { isLimit, type Limit, limitText } from "../limits/limit.ts";
import type { Store } from "../stores/store.ts";
import { requireKey } from "./requests.ts";

/** Counts one request of a key and resolves with whether to accept it. */
export type LimitCheck = (key: string) => Promise<{ readonly accept: boolean }>;

/**
 * Wraps one limit and any store in a function: `const { accept } = await checkLimit(key)`. Checks of the same limit on
 * the same store share their counts; a different limit counts separately.
 */
export function limitCheck(limit: Limit, store: Store): LimitCheck {
  if (!isLimit(limit)) {
    throw new HeadgateError("HG_BAD_LIMIT", "limit", `must be like slidingWindow("100/m"), got ${shown(limit)}`);
  }
  if (typeof store?.apply !== "function") {
    throw new HeadgateError("HG_BAD_OPTION", "store", `must be a store such as cached(…), got ${shown(store)}`);
  }
  const rule = Object.freeze({ name: limitText(limit), limit });
  return async (key) => {
    requireKey(key);
    const [{ allowed }] = await store.apply("take", [{ rule, key, cost: 1 }]);
    return { accept: allowed };
  };
}
