import { limitOf } from "headgate-server/rule-lookup";
import { type RecordedLevel, type RecordedRequest, RecordedTraffic } from "headgate-simulator";
import type { LimitAnswer, RateLimitRule } from "../../api/types.ts";
import { HISTORY_MS } from "./level-history.ts";

/** To the worker: what was recorded of one identity under a rule, and what the service says of it now. */
export interface LevelsRequest {
  readonly kind: "levels";
  readonly rule: RateLimitRule;
  readonly now: Pick<LimitAnswer, "limit" | "burst" | "origin" | "current_count">;
  /** When the service said it, in milliseconds by its clock. */
  readonly at: number;
  readonly entries: readonly RecordedRequest[];
}

export type LevelsMessage =
  | { readonly kind: "levels"; readonly levels: readonly RecordedLevel[] | undefined }
  | { readonly kind: "failed"; readonly message: string };

const EVERY_MS = 2_000;
/** How exactly the time of the service is known. */
const TOLERANCE_MS = 1_000;
const STEP_MS = 100;

/** In a worker: the levels of the last minutes, without the present one. Undefined if they do not lead to the present one. */
export function levelsBefore({ rule, now, at, entries }: LevelsRequest): readonly RecordedLevel[] | undefined {
  const limit = limitOf(now.origin === "rule" || now.origin === "tier" ? rule : withUnits(rule, now));
  const traffic = new RecordedTraffic(entries);
  const present = traffic.levels(limit, moments(at - TOLERANCE_MS, at + TOLERANCE_MS, STEP_MS)).map(({ used }) => used);
  // Otherwise requests are missing, such as those that other nodes answered.
  const isWhole = now.current_count >= Math.min(...present) && now.current_count <= Math.max(...present);
  return isWhole ? traffic.levels(limit, moments(at - HISTORY_MS, at - EVERY_MS, EVERY_MS)) : undefined;
}

/** As the service makes the limits of single users. */
function withUnits(rule: RateLimitRule, { limit, burst }: LevelsRequest["now"]): RateLimitRule {
  return { ...rule, limit, burst: burst === limit ? null : burst };
}

/** In microseconds. */
function moments(fromMs: number, toMs: number, everyMs: number): readonly number[] {
  const count = Math.floor((toMs - fromMs) / everyMs) + 1;
  return Array.from({ length: count }, (_, i) => Math.round((fromMs + i * everyMs) * 1000));
}
