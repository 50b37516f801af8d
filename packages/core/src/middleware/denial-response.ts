import type { Denied } from "./admission.ts";
import type { Policy } from "./headers/policy.ts";
import { PROBLEM_TYPE, type ProblemKind, problemOf } from "./headers/problem-details.ts";
import type { HeaderField } from "./headers/response-headers.ts";

const PROBLEM_HEADER: HeaderField = { name: "Content-Type", value: PROBLEM_TYPE };

/** Builds the responses to denied requests. Bodies are built once, to keep the cost of an attack low. */
export class DenialResponses {
  /** The names of the rules in headers. */
  private readonly names: ReadonlyMap<string, string>;
  private readonly bodies = new Map<string, string>();

  constructor(rules: readonly string[], policies: readonly Policy[]) {
    this.names = new Map(rules.map((rule, i) => [rule, policies[i].name]));
  }

  write(kind: ProblemKind, deniedBy: readonly string[], headers: HeaderField[], decided: Denied["decided"]): Denied {
    headers.push(PROBLEM_HEADER);
    const status = kind === "quota-exceeded" ? 429 : 503;
    return { allowed: false, status, headers, body: this.body(kind, deniedBy), decided, deniedBy };
  }

  private body(kind: ProblemKind, deniedBy: readonly string[]): string {
    const id = JSON.stringify([kind, deniedBy]);
    const known = this.bodies.get(id);
    if (known !== undefined) return known;
    const names = deniedBy.map((rule) => this.names.get(rule) ?? rule);
    const body = JSON.stringify(problemOf(kind, names));
    this.bodies.set(id, body);
    return body;
  }
}
