import { api } from "./client.ts";
import type { RateLimitRule, RulePage } from "./types.ts";

/** More would take long to load, and the page would need too much memory. */
const MOST_LOADED = 10_000;

export interface LoadedRules {
  readonly rules: readonly RateLimitRule[];
  /** Whether these are all rules of the service. */
  readonly isComplete: boolean;
}

/** The rules of the service, page by page. */
export async function loadRules(signal: AbortSignal): Promise<LoadedRules> {
  const rules: RateLimitRule[] = [];
  let next: string | undefined;
  do {
    const cursor: string = next === undefined ? "" : `&cursor=${encodeURIComponent(next)}`;
    const page: RulePage = await api.get<RulePage>(`/api/v1/rules?limit=1000${cursor}`, signal);
    rules.push(...page.rules);
    next = page.next;
  } while (next !== undefined && rules.length < MOST_LOADED);
  return { rules, isComplete: next === undefined };
}
