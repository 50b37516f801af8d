import { HeadgateError, shown } from "../errors.ts";
import { isLimit, type Limit, limitText } from "../limits/limit.ts";
import type { Store } from "../stores/store.ts";
import { requireKey } from "./requests.ts";

/** Counts one request of a key, and says whether to let it in. */
export type LimitCheck = (key: string) => Promise<{ readonly accept: boolean }>;

/**
 * One limit as one function, over any store: `const { accept } = await checkLimit(key)`. Checks of the same
 * limit over the same store share their counts, and those of another limit do not.
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
