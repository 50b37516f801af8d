import type { Catalogue } from "../rules/catalogue.ts";
import type { CheckRequest, Identity } from "./check.ts";
import { type Plan, Plans, planForKey } from "./check-plans.ts";
import { keyOf } from "./check-request.ts";
import { RequestError } from "./request-error.ts";
import type { UserDataCache } from "./user-data-cache.ts";

/** What applies to one identity of a request. */
export interface IdentityPlan {
  readonly key: string;
  readonly plan: Plan;
}

export interface IdentityPlansOptions {
  /** The current rules. */
  readonly catalogue: () => Pick<Catalogue, "limitsFor" | "methods">;
  readonly userDataCache: Pick<UserDataCache, "of">;
  readonly nowMs: () => number;
}

/** Finds the limits of requests that have several identities. */
export class IdentityPlans {
  readonly #options: IdentityPlansOptions;
  readonly #plans = new Plans();

  constructor(options: IdentityPlansOptions) {
    this.#options = options;
  }

  async of({ identifier, dimension, endpoint, method }: Asked): Promise<IdentityPlan> {
    const { catalogue, userDataCache, nowMs } = this.#options;
    const asked = { identifier, dimension, endpoint, method, cost: 0 };
    const key = keyOf(asked);
    const userData = dimension === "user" ? await userDataCache.of(identifier) : undefined;
    return { key, plan: planForKey(this.#plans.of(catalogue(), asked, userData, nowMs), key) };
  }

  /** Of all identities of a check, which must differ. */
  async ofAll(request: CheckRequest): Promise<readonly [IdentityPlan, ...IdentityPlan[]]> {
    const { endpoint, method, others = [] } = request;
    const ofOne = ({ identifier, dimension }: Identity) => this.of({ identifier, dimension, endpoint, method });
    const [first, ...rest] = await Promise.all([ofOne(request), ...others.map(ofOne)]);
    const keys = new Map<string, number>();
    for (const [i, { key }] of [first, ...rest].entries()) {
      const same = keys.get(key);
      if (same !== undefined) {
        throw new RequestError(`identities[${i}]`, `is the same identity as identities[${same}]: remove one`);
      }
      keys.set(key, i);
    }
    return [first, ...rest];
  }
}

type Asked = Identity & Pick<CheckRequest, "endpoint" | "method">;
