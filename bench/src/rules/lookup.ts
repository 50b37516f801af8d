import { catalogueOf, type RateLimitRule } from "headgate-server";
import { undisturbedNow } from "../run/undisturbed-time.ts";
import { type Figures, HEADGATE, type Task } from "../suite.ts";
import { makeRules } from "./made-rules.ts";

const COUNTS: Readonly<Record<string, number>> = { "rules-10": 10, "rules-1k": 1_000, "rules-100k": 100_000 };
const PATHS = 4_096;
const STRETCH = 1_024;
const LEAST_WARM_UP_MS = 200;

export async function measureLookup({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const rules = keptRules(COUNTS[experiment]);
  const services = (rules.length - 1) / 3;
  // Scattered, so that consecutive lookups are not neighbours in memory.
  const paths = Array.from({ length: PATHS }, (_, i) => `/service${(i * 7_919) % services}/orders/${1_000_000 + i}`);
  const look = subject === HEADGATE ? await inCatalogue(rules) : inMap(paths);
  const matches = subject === HEADGATE ? 3 : 1;
  run(look, paths, matches, Math.max(LEAST_WARM_UP_MS, timedMs / 2));
  return { [experiment]: run(look, paths, matches, timedMs) / 1e6 };
}

export async function measureReading(): Promise<Figures> {
  const rules = keptRules(100_000);
  await catalogueOf(keptRules(1_000));
  const start = undisturbedNow();
  await catalogueOf(rules);
  return { "read-100k": undisturbedNow() - start };
}

type Look = (path: string) => number;

async function inCatalogue(rules: readonly RateLimitRule[]): Promise<Look> {
  const catalogue = await catalogueOf(rules);
  return (endpoint) => catalogue.limitsFor({ dimension: "user", endpoint, userData: undefined }, 0).length;
}

function inMap(paths: readonly string[]): Look {
  const map = new Map(paths.map((path) => [path, 1]));
  return (path) => map.get(path) ?? 0;
}

/** Lookups per second. A lookup that finds too little or too much is not fast. */
function run(look: Look, paths: readonly string[], matches: number, ms: number): number {
  const start = undisturbedNow();
  let lookups = 0;
  let found = 0;
  let elapsed = 0;
  while (elapsed < ms) {
    for (let i = 0; i < STRETCH; i += 1) found += look(paths[(lookups + i) % PATHS]);
    lookups += STRETCH;
    elapsed = undisturbedNow() - start;
  }
  if (found !== lookups * matches) throw new Error(`found ${found / lookups} limits for each path, not ${matches}`);
  return (1000 * lookups) / elapsed;
}

const AT = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z", version: 1 };

function keptRules(count: number): RateLimitRule[] {
  return makeRules(count).map((rule) => ({ ...rule, ...AT }));
}
