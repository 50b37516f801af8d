import type { Server } from "node:http";
import { FLOOR } from "../../suite.ts";

export const BARE = `${FLOOR}bare`;
export const THREE_HEADERS = `${FLOOR}three constant headers`;

/** So large that no request is denied, and so slow to refill that each response reports a different remainder. */
export const LIMIT = 1_000_000_000;
export const WINDOW_MS = 86_400_000;

/** The body of every response. */
export const HELLO = { hello: "world" } as const;

/** The headers that the floor sets. */
export const HEADERS = [
  ["RateLimit-Limit", "1000000000"],
  ["RateLimit-Remaining", "999999999"],
  ["RateLimit-Reset", "60"],
] as const;

export interface ServerModule {
  /** Starts a server with the subject in front of its only handler, on a free loopback port. */
  serve(subject: string): Promise<Server>;
}

/** The middleware of each subject, loaded on demand so that a process loads only what it measures. */
export type Limiters<Middleware> = Readonly<Record<string, () => Promise<Middleware>>>;

/** Undefined for a bare server. */
export async function limiterOf<Middleware>(
  limiters: Limiters<Middleware>,
  subject: string,
): Promise<Middleware | undefined> {
  if (subject === BARE) return undefined;
  const make = limiters[subject];
  if (make === undefined) throw new Error(`there is no subject ${subject}`);
  return make();
}
