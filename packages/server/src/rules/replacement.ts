import type { RuleInput } from "./rule.ts";
import { rulesFile } from "./rules-file.ts";

/** One field that cannot be used; the empty one is the text itself, which is no JSON. */
export interface ReplacementProblem {
  readonly field: string;
  readonly problem: string;
}

/** A replacement of all rules that cannot be used; nothing of it is. */
export class ReplacementError extends Error {
  override readonly name = "ReplacementError";
  readonly problems: readonly ReplacementProblem[];

  constructor(problems: readonly ReplacementProblem[]) {
    super(`${problems[0].field}: ${problems[0].problem}`);
    this.problems = problems;
  }
}

/** The rules of `{"rules": [ … ]}`: all of them, or it throws a ReplacementError that says all that is wrong. */
export function parseReplacement(text: string): readonly RuleInput[] {
  const { data, error } = rulesFile.safeParse(parsed(text));
  if (data !== undefined) return data.rules;
  const problems = error.issues.flatMap((issue): ReplacementProblem[] => {
    if (issue.code !== "unrecognized_keys") {
      return [{ field: issue.path.map(String).join(".") || "body", problem: issue.message }];
    }
    return issue.keys.map((key) => ({
      field: [...issue.path, key].map(String).join("."),
      problem: "is not known here",
    }));
  });
  throw new ReplacementError(problems);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ReplacementError([{ field: "", problem: "is no JSON" }]);
  }
}
