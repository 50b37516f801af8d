import { cached } from "./cached/suite.ts";
import { http } from "./http/suite.ts";
import { keys } from "./keys/suite.ts";
import { leases, leasesOnZooKeeper } from "./leases/suite.ts";
import { memory } from "./memory/suite.ts";
import { peers } from "./peers/peers-suite.ts";
import { redis } from "./redis/suite.ts";
import { replay } from "./replay/suite.ts";
import { reservations } from "./reservations/suite.ts";
import { rules } from "./rules/suite.ts";
import { grpc } from "./service/grpc-suite.ts";
import { resp } from "./service/resp-suite.ts";
import { rest } from "./service/rest-suite.ts";
import { workers } from "./service/workers-suite.ts";
import type { Suite } from "./suite.ts";

export const suites: readonly Suite[] = [
  memory,
  keys,
  redis,
  cached,
  leases,
  leasesOnZooKeeper,
  reservations,
  http,
  rules,
  rest,
  workers,
  grpc,
  replay,
  resp,
  peers,
];

export function findSuite(name: string): Suite | undefined {
  return suites.find((suite) => suite.name === name);
}
