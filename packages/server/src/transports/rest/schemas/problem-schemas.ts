import { z } from "zod";
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from "../problem.ts";
import { count } from "./common-fields.ts";

export const fieldAtFault = z.object({
  in: z.enum(["body", "query", "path", "header"]),
  field: z.string(),
  problem: z.string(),
});

export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    code: z.enum(Object.keys(PROBLEMS)),
    detail: z.string().optional(),
    advice: z.string(),
    errors: z.array(fieldAtFault).max(100).optional(),
    more_errors: count.optional().describe("Number of further invalid fields"),
    unchecked_rules: count
      .optional()
      .describe("Number of rules that were not validated because too many others were invalid"),
  })
  .meta({ id: "Problem" });

interface ProblemResponse {
  readonly description: string;
  readonly content: { readonly [PROBLEM_TYPE]: { readonly schema: typeof problem } };
}

/** The errors that any route with a key may return. */
const COMMON: readonly ProblemCode[] = [
  "validation_failed",
  "unauthenticated",
  "forbidden",
  "quota_exceeded",
  "too_many_wrong_keys",
  "internal_error",
];

/** The error responses of a route by status, including the common ones. */
export function problems(...codes: readonly ProblemCode[]): Record<number, ProblemResponse> {
  return openProblems(...new Set([...COMMON, ...codes]));
}

/** The same for a route that needs no key. */
export function openProblems(...codes: readonly ProblemCode[]): Record<number, ProblemResponse> {
  const responses: Record<number, ProblemResponse> = {};
  for (const code of codes) {
    const { status } = PROBLEMS[code];
    const before = responses[status]?.description;
    const description = before === undefined ? code : `${before}, ${code}`;
    responses[status] = { description, content: { [PROBLEM_TYPE]: { schema: problem } } };
  }
  return responses;
}
