import { algorithms } from "headgate";
import type { Catalogue } from "../rules/catalogue.ts";
import type { Consistency, Dimension } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { UserData } from "../rules/user-limits.ts";
import type { CheckRequest, Identity } from "./check.ts";
import { isEnforced } from "./enforce-share.ts";

/** Number of cached plans, and maximum endpoint length: invented paths take up at most a few megabytes. */
const MOST_PLANS = 10_000;
const LONGEST_ENDPOINT = 256;

/** The limits of a request, by what is done with them. */
export interface Plan {
  readonly enforced: readonly AppliedLimit[];
  readonly shadow: readonly AppliedLimit[];
  /** Limits on concurrent tasks, which checks do not apply: only reservations take slots. */
  readonly slots: readonly AppliedLimit[];
  /** The consistency, and so the store, of the enforced limits. */
  readonly consistency: Consistency;
  /** If a check has several identities: the key that each limit is charged to. */
  readonly keys?: { readonly enforced: readonly string[]; readonly shadow: readonly string[] };
  /** Which of the enforced limits are split among the nodes, if not all of them are. */
  readonly isSplit?: readonly boolean[];
  /** Whether some of the enforced limits are enforced only for a share of the keys. */
  readonly isShared?: boolean;
}

/** The plan for one key: limits that are enforced only for other keys deny nothing. */
export function planForKey(plan: Plan, key: string): Plan {
  if (plan.isShared === undefined) return plan;
  const outside = plan.enforced.filter(({ config }) => !isEnforced(config, key));
  if (outside.length === 0) return plan;
  const enforced = plan.enforced.filter((limit) => !outside.includes(limit));
  return makePlan(enforced, [...outside, ...plan.shadow], plan.slots);
}

type Rules = Pick<Catalogue, "limitsFor" | "methods">;
type Endpoints = Map<string, Plan>;
/** By a method that rules name; undefined: requests of other methods, and those without one. */
type ByMethod = Map<string | undefined, Endpoints>;

/**
 * Determines the limits that apply to a request. Cached for users without data of their own: for those, it depends only
 * on the rules, the endpoint, the method and the tier. The cache is per catalogue, so it starts over when rules change.
 */
export class Plans {
  private catalogue: Rules | undefined;
  private byTier = emptyPlans();
  private size = 0;

  /** `nowMs` is called if an override may have expired. */
  of(catalogue: Rules, request: CheckRequest, userData: UserData | undefined, nowMs: () => number): Plan {
    const { dimension, endpoint } = request;
    const method = namedMethod(catalogue, request);
    if (endpoint.length > LONGEST_ENDPOINT || hasOwnLimits(userData)) {
      return planOf(catalogue.limitsFor({ dimension, endpoint, method, userData }, nowMs()));
    }
    if (catalogue !== this.catalogue || this.size >= MOST_PLANS) this.startAnew(catalogue);
    const endpoints = this.endpointsOf(dimension, userData?.tier ?? null, method);
    const known = endpoints.get(endpoint);
    if (known !== undefined) return known;
    const plan = planOf(catalogue.limitsFor({ dimension, endpoint, method, userData }, nowMs()));
    endpoints.set(endpoint, plan);
    this.size += 1;
    return plan;
  }

  private startAnew(catalogue: Rules): void {
    this.catalogue = catalogue;
    this.byTier = emptyPlans();
    this.size = 0;
  }

  private endpointsOf(dimension: Dimension, tier: string | null, method: string | undefined): Endpoints {
    const tiers = this.byTier[dimension];
    let methods = tiers.get(tier);
    if (methods === undefined) {
      methods = new Map();
      tiers.set(tier, methods);
    }
    let endpoints = methods.get(method);
    if (endpoints === undefined) {
      endpoints = new Map();
      methods.set(method, endpoints);
    }
    return endpoints;
  }
}

export function planOf(applied: readonly AppliedLimit[]): Plan {
  const slots = applied.filter(isSlots);
  const rates = slots.length === 0 ? applied : applied.filter((limit) => !isSlots(limit));
  const enforced = rates.filter(({ config }) => config.mode === "enforce");
  const shadow = rates.filter(({ config }) => config.mode === "shadow");
  const candidates = applied.flatMap(({ candidate = [] }) => candidate);
  return makePlan(enforced, candidates.length === 0 ? shadow : [...shadow, ...candidates], slots);
}

/** Whether a limit counts slots in use instead of units in time. */
export function isSlots({ limit }: Pick<AppliedLimit, "limit">): boolean {
  return algorithms[limit.algorithm].traits.releasable === true;
}

/** The plan of a check that has several identities, from that of each. */
export function jointPlan(
  parts: readonly { readonly key: string; readonly plan: Plan }[],
): Plan & Required<Pick<Plan, "keys">> {
  const enforced = parts.flatMap(({ plan }) => plan.enforced);
  const keysOf = (list: "enforced" | "shadow"): string[] => parts.flatMap(({ key, plan }) => plan[list].map(() => key));
  return {
    enforced,
    shadow: parts.flatMap(({ plan }) => plan.shadow),
    // Only named in the answer, once each.
    slots: [...new Map(parts.flatMap(({ plan }) => plan.slots).map((limit) => [limit.config.rule_id, limit])).values()],
    keys: { enforced: keysOf("enforced"), shadow: keysOf("shadow") },
    ...storesOf(enforced),
  };
}

/** Whose limit it is, if a check has several identities. */
export function identityOf(plan: Plan, list: "enforced" | "shadow", i: number): Identity | undefined {
  const key = plan.keys?.[list][i];
  if (key === undefined) return undefined;
  const { dimension } = plan[list][i].config;
  return { dimension, identifier: key.slice(dimension.length + 1) };
}

/** An all-or-nothing decision needs a single store. */
function storesOf(enforced: readonly AppliedLimit[]): Pick<Plan, "consistency" | "isSplit"> {
  const agreed = enforced.every(({ consistency }) => consistency === enforced[0].consistency);
  if (agreed) return { consistency: enforced[0]?.consistency ?? "strict" };
  // What a node has counted in its share is not known to the store.
  const isSplit = enforced.map(({ consistency }) => consistency === "split");
  return { consistency: "strict", ...(isSplit.includes(true) && { isSplit }) };
}

function makePlan(
  enforced: readonly AppliedLimit[],
  shadow: readonly AppliedLimit[],
  slots: readonly AppliedLimit[],
): Plan {
  const isShared = enforced.some(({ config }) => (config.enforce_share ?? 1) < 1);
  return { enforced, shadow, slots, ...storesOf(enforced), ...(isShared && { isShared }) };
}

function emptyPlans(): Readonly<Record<Dimension, Map<string | null, ByMethod>>> {
  return { user: new Map(), ip: new Map(), apikey: new Map() };
}

/** The method, if rules name it: invented methods take up no memory. */
function namedMethod({ methods }: Rules, { method }: CheckRequest): string | undefined {
  if (method === undefined || methods.size === 0) return undefined;
  const named = method.toUpperCase();
  return methods.has(named) ? named : undefined;
}

function hasOwnLimits(userData: UserData | undefined): boolean {
  if (userData === undefined) return false;
  if (userData.overrides.length > 0) return true;
  for (const _ in userData.custom_limits) return true;
  return false;
}
