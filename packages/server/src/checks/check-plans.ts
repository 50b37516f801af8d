import type { Catalogue } from "../rules/catalogue.ts";
import type { Applied } from "../rules/family.ts";
import type { Consistency, Dimension } from "../rules/rule.ts";
import type { Standing } from "../rules/user-limits.ts";
import type { CheckRequest } from "./check.ts";
import type { PlannedLimit } from "./planned-limit.ts";

/** So many are remembered, of endpoints no longer than this: who makes up paths fills no more than a few megabytes. */
const MOST_PLANS = 10_000;
const LONGEST_ENDPOINT = 256;

/** The limits of a request, by what is done with them. */
export interface Plan {
  readonly enforced: readonly PlannedLimit[];
  readonly shadow: readonly PlannedLimit[];
  /** Of the store that is asked for those that are enforced. */
  readonly consistency: Consistency;
}

type Rules = Pick<Catalogue, "limitsFor">;
type Endpoints = Map<string, Plan>;

/**
 * Which limits a request has to pass, remembered for those who have nothing of their own: for them it depends on
 * the rules, the endpoint and the tier alone. Other rules are another catalogue, and start anew.
 */
export class Plans {
  private readonly plannedOf: (applied: Applied) => PlannedLimit;
  private catalogue: Rules | undefined;
  private byTier = emptyPlans();
  private size = 0;

  constructor(plannedOf: (applied: Applied) => PlannedLimit) {
    this.plannedOf = plannedOf;
  }

  /** `nowMs`: asked where an override may have expired. */
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

  private plan(applied: readonly Applied[]): Plan {
    const enforced = applied.filter(({ definition }) => definition.mode === "enforce").map(this.plannedOf);
    const shadow = applied.filter(({ definition }) => definition.mode === "shadow").map(this.plannedOf);
    // All or nothing needs one store.
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
