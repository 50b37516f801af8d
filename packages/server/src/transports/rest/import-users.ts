import type { Work } from "../../rules/cooperative-work.ts";
import { isAmong } from "../../rules/merge-sort.ts";
import { parseUserInput } from "../../rules/user-input.ts";
import type { UserInput } from "../../rules/user-limits.ts";
import { type FieldProblem, Problem } from "./problem.ts";
import { type KnownNames, unknownTierProblem } from "./rule-names.ts";

/** Maximum number of problems to list. */
const MOST_PROBLEMS = 100;

export interface CheckedImport {
  readonly users: readonly UserInput[];
  readonly warnings: readonly FieldProblem[];
}

/** The users of an import. Throws a problem that lists the invalid fields by the index of their user. */
export function* checkImport(values: readonly unknown[], known: KnownNames): Work<CheckedImport> {
  const users: UserInput[] = [];
  const problems: FieldProblem[] = [];
  for (const [index, value] of values.entries()) {
    const parsed = parseUserInput(value);
    const found = "problems" in parsed ? parsed.problems : unknownRules(parsed.user, known);
    for (const { field, problem } of found) {
      problems.push({ in: "body", field: field === "" ? `users[${index}]` : `users[${index}].${field}`, problem });
    }
    if (problems.length >= MOST_PROBLEMS) break;
    if ("user" in parsed) users.push(parsed.user);
    yield;
  }
  if (problems.length > 0) throw rejection(problems.slice(0, MOST_PROBLEMS));
  return { users, warnings: unknownTiers(users, known) };
}

function unknownRules({ custom_limits = {} }: UserInput, { byId }: KnownNames) {
  return Object.keys(custom_limits)
    .filter((rule_id) => !isAmong(byId, rule_id))
    .map((rule_id) => ({ field: `custom_limits.${rule_id}`, problem: "is not an existing rule" }));
}

/** One warning for each tier, at the first user that has it. */
function unknownTiers(users: readonly UserInput[], known: KnownNames): FieldProblem[] {
  const first = new Map<string, { readonly index: number; count: number }>();
  for (const [index, { tier }] of users.entries()) {
    if (tier === undefined || tier === null || known.tiers.has(tier)) continue;
    const found = first.get(tier);
    if (found === undefined) first.set(tier, { index, count: 1 });
    else found.count += 1;
  }
  return [...first].slice(0, MOST_PROBLEMS).map(([tier, { index, count }]) => ({
    in: "body",
    field: `users[${index}].tier`,
    problem: `${unknownTierProblem(tier, known)} (${count} of these users)`,
  }));
}

function rejection(errors: readonly FieldProblem[]): Problem {
  const [{ field, problem }] = errors;
  const others = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem("validation_failed", `${field}: ${problem}${others}`, { errors });
}
