import type { RuleInput } from "headgate-server";
import { BLANK, bodyOf, RATE_ALGORITHMS, UNSET } from "../rules/rule-draft.ts";

/** A limit as the form of the replay has it: for all paths, unless one is given. */
export interface LimitDraft {
  readonly path: string;
  readonly limit: string;
  readonly windowSeconds: string;
  readonly algorithm: string;
  readonly burst: string;
}

export const FIRST_LIMIT: LimitDraft = {
  path: "/**",
  limit: "60",
  windowSeconds: "60",
  algorithm: RATE_ALGORITHMS[0],
  burst: "",
};

export type LimitField = keyof LimitDraft;

/** The first problem of each field. */
export function problemsOf({ path, limit, windowSeconds, burst }: LimitDraft): Partial<Record<LimitField, string>> {
  const isWhole = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text.trim());
  return {
    ...(!path.trim().startsWith("/") && { path: "must begin with /" }),
    ...(!isWhole(limit) && { limit: "must be a whole number of at least 1" }),
    ...(!isWhole(windowSeconds) && { windowSeconds: "must be a whole number of at least 1" }),
    ...(burst.trim() !== "" && !isWhole(burst) && { burst: "must be a whole number, or blank" }),
  };
}

/** The rule that a limit of the form stands for. */
export function ruleOf(draft: LimitDraft, dimension: RuleInput["dimension"], name: string): RuleInput {
  const { path, limit, windowSeconds, algorithm, burst } = draft;
  const fields = bodyOf({
    ...BLANK,
    rule_id: name,
    name,
    dimension,
    endpoint_pattern: path,
    limit,
    window_seconds: windowSeconds,
    algorithm,
    burst,
  });
  // A stored rule has null where nothing was stated.
  return { ...UNSET, ...fields } as unknown as RuleInput;
}
