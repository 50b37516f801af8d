import type { AsyncChecker } from "../subjects/subject.ts";
import { HEADGATE } from "../suite.ts";

export const LEASED = `${HEADGATE}-leased`;
export const EAGER = `${LEASED}-eagerly`;
export const ONE_CALL = "one-call-per-check";
export const LOCK = "lock-update-unlock";

/** A limiter on a server shared by several processes, and how often it has called that server. */
export interface Subject {
  readonly checker: AsyncChecker;
  roundTrips(): number;
  close(): Promise<void>;
}

/** Where to count and under which keys, for subjects that have to create something per key in advance. */
export interface Place {
  readonly address: string;
  readonly keys: readonly string[];
}

interface Backend {
  openSubject(name: string, place: Place): Promise<Subject>;
}

/** By suite. Each process loads only what it measures. */
const backends: Readonly<Record<string, () => Promise<Backend>>> = {
  leases: () => import("./redis-subjects.ts"),
  "leases-zookeeper": () => import("./zookeeper-subjects.ts"),
};

export async function openSubject(suite: string, name: string, place: Place): Promise<Subject> {
  const { openSubject } = await backends[suite]();
  return openSubject(name, place);
}
