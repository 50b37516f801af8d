import type { AsyncChecker } from "../subjects/subject.ts";
import { HEADGATE } from "../suite.ts";

export const LEASED = `${HEADGATE}-leased`;
export const EAGER = `${LEASED}-eagerly`;
export const ONE_CALL = "one-call-per-check";
export const LOCK = "lock-update-unlock";

/** A limiter on a server that several processes share, and how often it has asked that server. */
export interface Subject {
  readonly checker: AsyncChecker;
  roundTrips(): number;
  close(): Promise<void>;
}

/** Where to count, and for whom: those who need something on the server for each key make it beforehand. */
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
