import type { Server } from "node:http";
import { FLOOR } from "../../suite.ts";

export const BARE = `${FLOOR}bare`;
export const THREE_HEADERS = `${FLOOR}three constant headers`;

/** So generous that everybody passes, and so slow to refill that each response has another remainder to tell. */
export const LIMIT = 1_000_000_000;
export const WINDOW_MS = 86_400_000;

/** What every server answers. */
export const HELLO = { hello: "world" } as const;

/** What the floor sets. */
export const HEADERS = [
  ["RateLimit-Limit", "1000000000"],
  ["RateLimit-Remaining", "999999999"],
  ["RateLimit-Reset", "60"],
] as const;

export interface ServerModule {
  /** Starts a server with the subject before its only handler, on a free port of the loopback. */
  serve(subject: string): Promise<Server>;
}

/** What stands before the handler, each made when asked so that a process loads only what it measures. */
export type Limiters<Middleware> = Readonly<Record<string, () => Promise<Middleware>>>;

/** Nothing for a bare server. */
export async function limiterOf<Middleware>(
  limiters: Limiters<Middleware>,
  subject: string,
): Promise<Middleware | undefined> {
  if (subject === BARE) return undefined;
  const make = limiters[subject];
  if (make === undefined) throw new Error(`there is no subject ${subject}`);
  return make();
}
