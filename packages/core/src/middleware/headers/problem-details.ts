/** Media type of RFC 9457 problem details. */
export const PROBLEM_TYPE = "application/problem+json";

/** The problem types of the rate limit draft that Headgate uses. */
const PROBLEMS = {
  "quota-exceeded": { status: 429, title: "Quota exceeded" },
  "temporary-reduced-capacity": { status: 503, title: "Temporarily reduced capacity" },
} as const;

export type ProblemKind = keyof typeof PROBLEMS;

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: 429 | 503;
  /** The policies that denied the request, as named in `RateLimit-Policy`. */
  readonly "violated-policies": readonly string[];
}

export function problemOf(kind: ProblemKind, violated: readonly string[]): Problem {
  const { status, title } = PROBLEMS[kind];
  return {
    type: `https://iana.org/assignments/http-problem-types#${kind}`,
    title,
    status,
    "violated-policies": violated,
  };
}
