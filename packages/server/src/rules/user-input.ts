import { HeadgateError } from "headgate";
import { z } from "zod";
import { LONGEST_ID, requireStorable } from "../database/storable-text.ts";
import { fieldAt } from "./field-path.ts";
import type { UserInput } from "./user-limits.ts";

export const limitUnits = z.int().min(1).describe("Units per window");
export const burstUnits = z.int().min(1).nullable().describe("Units that can be used at once; null: equal to limit");

export const tierName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be a name such as premium: at most 64 letters, digits, . _ -");

export const customLimits = z.record(
  z.string().min(1).max(255),
  z.strictObject({ limit: limitUnits, burst: burstUnits.default(null) }),
);

/** One user of an import. */
export const userInput = z
  .strictObject({
    user_id: z.string().min(1).max(LONGEST_ID),
    tier: tierName.nullable().optional().describe("null for no tier; left unchanged if absent"),
    custom_limits: customLimits
      .optional()
      .describe("Limits by rule_id, replacing all custom limits of the user; left unchanged if absent"),
  })
  .refine(({ tier, custom_limits }) => tier !== undefined || custom_limits !== undefined, {
    error: "is required, or custom_limits",
    path: ["tier"],
  });

export interface InputProblem {
  readonly field: string;
  readonly problem: string;
}

export type ParsedUser = { readonly user: UserInput } | { readonly problems: readonly InputProblem[] };

/** Maximum number of custom limits, so that one user cannot block this thread. */
const MOST_CUSTOM_LIMITS = 1_000;

/** A parsed user of an import, or its problems. */
export function parseUserInput(value: unknown): ParsedUser {
  if (customLimitCount(value) > MOST_CUSTOM_LIMITS) {
    return { problems: [{ field: "custom_limits", problem: `must have at most ${MOST_CUSTOM_LIMITS} limits` }] };
  }
  const { data, error } = userInput.safeParse(value);
  if (error !== undefined) return { problems: error.issues.flatMap(problemsOf) };
  const { user_id, tier, custom_limits } = data;
  try {
    requireStorable({ user_id });
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    return { problems: [{ field: error.field, problem: error.problem }] };
  }
  return {
    user: { user_id, ...(tier !== undefined && { tier }), ...(custom_limits !== undefined && { custom_limits }) },
  };
}

function customLimitCount(value: unknown): number {
  if (typeof value !== "object" || value === null || !("custom_limits" in value)) return 0;
  const { custom_limits } = value;
  return typeof custom_limits === "object" && custom_limits !== null ? Object.keys(custom_limits).length : 0;
}

function problemsOf(issue: z.core.$ZodIssue): InputProblem[] {
  const { path } = issue;
  if (issue.code !== "unrecognized_keys") return [{ field: fieldAt(path), problem: issue.message }];
  return issue.keys.map((key) => ({ field: fieldAt([...path, key]), problem: "is not a field of a user" }));
}
