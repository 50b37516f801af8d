import { HEADGATE } from "../suite.ts";
import type { MakeChecker, SubjectModule } from "./subject.ts";

export const MAP_GET = "floor: Map.get";
export const BARE_GCRA = "floor: bare GCRA in a typed array";
export const NO_LIMITER = "floor: no limiter";

/** Each in a separate module, which imports its library on demand. */
const modules: Readonly<Record<string, () => Promise<SubjectModule>>> = {
  [HEADGATE]: () => import("./headgate.ts"),
  "fast-ratelimit": () => import("./fast-ratelimit.ts"),
  "hono-rate-limiter": () => import("./hono-rate-limiter.ts"),
  "@fastify/rate-limit": () => import("./fastify-rate-limit.ts"),
  limiter: () => import("./limiter.ts"),
  "express-rate-limit": () => import("./express-rate-limit.ts"),
  "rate-limiter-flexible": () => import("./rate-limiter-flexible.ts"),
  "@nestjs/throttler": () => import("./nestjs-throttler.ts"),
  [MAP_GET]: () => import("./map-get.ts"),
  [BARE_GCRA]: () => import("./bare-gcra.ts"),
  [NO_LIMITER]: () => import("./no-limiter.ts"),
};

/** Headgate, its peers, and the floors, which only look up a key or do the arithmetic. */
export const contestants: readonly string[] = Object.keys(modules).filter((subject) => subject !== NO_LIMITER);

export async function loadSubject(name: string): Promise<MakeChecker> {
  const module = modules[name];
  if (module === undefined) throw new Error(`there is no subject ${name}`);
  return (await module()).load();
}
