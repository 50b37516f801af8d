import type { Limit } from "../../limit/limit.ts";
import type { Rule } from "../store.ts";
import { Heat } from "./heat.ts";
import type { Lease } from "./lease.ts";
import type { Settings } from "./options.ts";
import { type Pool, poolOf } from "./pool.ts";

/** A rule, the pool of each of its keys, and the keys that are leased for. */
export class LeasedRule {
  readonly limit: Limit;
  readonly pool: Pool;
  readonly leases = new Map<string, Lease>();
  readonly heat: Heat;

  constructor(rule: Rule, settings: Settings) {
    this.limit = rule.limit;
    this.pool = poolOf(rule, settings);
    this.heat = new Heat(settings.promoteAfter);
  }
}
