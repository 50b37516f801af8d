import type { Catalogue } from "../rules/catalogue.ts";
import type { Consistency, Dimension } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { Standing } from "../rules/user-limits.ts";
import type { CheckRequest } from "./check.ts";

/** Number of cached plans, and maximum endpoint length: invented paths take up at most a few megabytes. */
const MOST_PLANS = 10_000;
const LONGEST_ENDPOINT = 256;

/** The limits of a request, by what is done with them. */
export interface Plan {
  readonly enforced: readonly AppliedLimit[];
  readonly shadow: readonly AppliedLimit[];
  /** The consistency, and so the store, of the enforced limits. */
  readonly consistency: Consistency;
}

type Rules = Pick<Catalogue, "limitsFor">;
type Endpoints = Map<string, Plan>;

/**
 * Determines the limits that apply to a request. Cached for users without data of their own, for whom it depends only
 * on
 * the rules, the endpoint and the tier. The cache is per catalogue, so it starts over when rules change.
 */
export class Plans {
  private catalogue: Rules | undefined;
  private byTier = emptyPlans();
  private size = 0;

  /** `nowMs` is called if an override may have expired. */
  of(catalogue: Rules, request: CheckRequest, standing: Standing | undefined, nowMs: () => number): Plan {
    const { dimension, endpoint } = request;
    if (endpoint.length > LONGEST_ENDPOINT || hasOwnLimits(standing)) {
      return this.plan(catalogue.limitsFor({ dimension, endpoint, standing }, nowMs()));
    }
    if (catalogue !== this.catalogue || this.size >= MOST_PLANS) this.startAnew(catalogue);
    const endpoints = this.endpointsOf(dimension, standing?.tier ?? null);
    const known = endpoints.get(endpoint);
    if (known !== undefined) return known;
    const plan = this.plan(catalogue.limitsFor({ dimension, endpoint, standing }, nowMs()));
    endpoints.set(endpoint, plan);
    this.size += 1;
    return plan;
  }

  private startAnew(catalogue: Rules): void {
    this.catalogue = catalogue;
    this.byTier = emptyPlans();
    this.size = 0;
  }

  private endpointsOf(dimension: Dimension, tier: string | null): Endpoints {
    const tiers = this.byTier[dimension];
    let endpoints = tiers.get(tier);
    if (endpoints === undefined) {
      endpoints = new Map();
      tiers.set(tier, endpoints);
    }
    return endpoints;
  }

  private plan(applied: readonly AppliedLimit[]): Plan {
    const enforced = applied.filter(({ config }) => config.mode === "enforce");
    const shadow = applied.filter(({ config }) => config.mode === "shadow");
    // An all-or-nothing decision needs a single store.
    const agreed = enforced.every(({ consistency }) => consistency === enforced[0].consistency);
    return { enforced, shadow, consistency: agreed && enforced.length > 0 ? enforced[0].consistency : "strict" };
  }
}

function emptyPlans(): Readonly<Record<Dimension, Map<string | null, Endpoints>>> {
  return { user: new Map(), ip: new Map(), apikey: new Map() };
}

function hasOwnLimits(standing: Standing | undefined): boolean {
  if (standing === undefined) return false;
  if (standing.overrides.length > 0) return true;
  for (const _ in standing.custom_limits) return true;
  return false;
}
