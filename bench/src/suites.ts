import { http } from "./http/suite.ts";
import { keys } from "./keys/suite.ts";
import { memory } from "./memory/suite.ts";
import { redis } from "./redis/suite.ts";
import type { Suite } from "./suite.ts";

export const suites: readonly Suite[] = [memory, keys, redis, http];

export function findSuite(name: string): Suite | undefined {
  return suites.find((suite) => suite.name === name);
}
