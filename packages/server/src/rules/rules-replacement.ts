import { atOnce, type Work } from "./cooperative-work.ts";
import { fieldAt } from "./field-path.ts";
import type { RuleInput } from "./rule.ts";
import { ruleInput } from "./rule-input.ts";
import { rulesFile } from "./rules-file-schema.ts";

/** Number of problems to list. A list of all could be a hundred times as long as the rules. */
const MOST_PROBLEMS = 100;

/** An invalid field; the empty one stands for the text itself, which is not valid JSON. */
export interface ReplacementProblem {
  readonly field: string;
  readonly problem: string;
}

/** The problems of a replacement, and how many more there may be. */
export interface ReplacementProblems {
  readonly problems: readonly ReplacementProblem[];
  /** Number of problems that are not listed. */
  readonly more: number;
  /** Number of further rules that were not checked. */
  readonly unchecked: number;
}

/** A replacement of all rules that cannot be used; nothing of it is applied. */
export class ReplacementError extends Error implements ReplacementProblems {
  override readonly name = "ReplacementError";
  readonly problems: readonly ReplacementProblem[];
  readonly more: number;
  readonly unchecked: number;

  constructor({ problems, more, unchecked }: ReplacementProblems) {
    super(`${problems[0].field}: ${problems[0].problem}`);
    this.problems = problems;
    this.more = more;
    this.unchecked = unchecked;
  }
}

/** The rules of `{"rules": [ … ]}`. Throws a ReplacementError with the first problems. */
export function parseReplacement(text: string): readonly RuleInput[] {
  return atOnce(parsingReplacement(text));
}

/** The same, to be run in steps. */
export function* parsingReplacement(text: string): Work<readonly RuleInput[]> {
  const value = parsed(text);
  const items = itemsIn(value);
  // One by one: a schema of the whole list would collect all problems first.
  const { error } = rulesFile.safeParse(items === undefined ? value : { ...Object(value), rules: [] });
  const found = error === undefined ? [] : error.issues.flatMap((issue) => problemsOf(issue, []));
  const rules: RuleInput[] = [];
  let unchecked = 0;
  for (const [i, item] of (items ?? []).entries()) {
    if (found.length >= MOST_PROBLEMS) {
      unchecked = (items ?? []).length - i;
      break;
    }
    const { data, error } = ruleInput.safeParse(item);
    if (data !== undefined) rules.push(data);
    for (const issue of error?.issues ?? []) found.push(...problemsOf(issue, ["rules", i]));
    yield;
  }
  if (found.length === 0) return rules;
  const problems = found.slice(0, MOST_PROBLEMS);
  throw new ReplacementError({ problems, more: found.length - problems.length, unchecked });
}

function itemsIn(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== "object" || value === null || !("rules" in value)) return undefined;
  return Array.isArray(value.rules) ? value.rules : undefined;
}

type Issue = NonNullable<ReturnType<typeof ruleInput.safeParse>["error"]>["issues"][number];

function problemsOf(issue: Issue, at: readonly PropertyKey[]): ReplacementProblem[] {
  const path = [...at, ...issue.path];
  if (issue.code !== "unrecognized_keys") {
    return [{ field: fieldAt(path) || "body", problem: issue.message }];
  }
  return issue.keys.map((key) => ({ field: fieldAt([...path, key]), problem: "is not a known field" }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const problems = [{ field: "", problem: "is not valid JSON" }];
    throw new ReplacementError({ problems, more: 0, unchecked: 0 });
  }
}
