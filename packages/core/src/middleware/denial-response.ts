import type { Denied, Outcome } from "./admission.ts";
import type { Policy } from "./headers/policy.ts";
import { PROBLEM_TYPE, type ProblemKind, problemOf } from "./headers/problem.ts";
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

  write(kind: ProblemKind, violated: readonly string[], headers: HeaderField[], decided: Outcome | undefined): Denied {
    headers.push(PROBLEM_HEADER);
    const status = kind === "quota-exceeded" ? 429 : 503;
    return { allowed: false, status, headers, body: this.body(kind, violated), decided, violated };
  }

  private body(kind: ProblemKind, violated: readonly string[]): string {
    const id = JSON.stringify([kind, violated]);
    const known = this.bodies.get(id);
    if (known !== undefined) return known;
    const names = violated.map((rule) => this.names.get(rule) ?? rule);
    const body = JSON.stringify(problemOf(kind, names));
    this.bodies.set(id, body);
    return body;
  }
}
