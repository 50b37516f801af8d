import { fixedWindow, gcra, leakyBucket } from "headgate";
import type { z } from "zod";
import { fieldAt } from "../field-path.ts";
import type { RuleInput } from "../rule.ts";
import { ruleInput } from "../rule-input.ts";

/** The algorithms that decide as other limiters do. */
export const FIXED_WINDOW = fixedWindow("1/s").algorithm;
export const METER = gcra("1/s").algorithm;
export const QUEUE = leakyBucket("1/s").algorithm;

/** Rules made from the configuration of another limiter, and what could not be carried over. */
export class ImportedRules {
  readonly rules: RuleInput[] = [];
  /** What has no equivalent, as `limits.yaml:7: …`. */
  readonly notes: string[] = [];
  private readonly file: string;
  private readonly ids = new Set<string>();

  constructor(file: string) {
    this.file = file;
  }

  /** Adds a rule. One that cannot be a rule of the service becomes a note. */
  add(line: number, rule: z.input<typeof ruleInput>): void {
    const id = this.freeId(String(rule.rule_id ?? rule.name));
    const { data, error } = ruleInput.safeParse({ ...rule, rule_id: id });
    if (data !== undefined) this.rules.push(data);
    else
      this.note(
        line,
        `${rule.name} cannot be a rule: ${error.issues.map(({ path, message }) => `${fieldAt(path)} ${message}`).join("; ")}`,
      );
  }

  note(line: number, text: string): void {
    this.notes.push(`${this.file}:${line}: ${text}`);
  }

  /** Letters, digits, dots and dashes, and each id once. */
  private freeId(name: string): string {
    const plain =
      name
        .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
        .replace(/^[^A-Za-z0-9]+|-+$/g, "")
        .slice(0, 120) || "rule";
    let id = plain;
    for (let i = 2; this.ids.has(id); i += 1) id = `${plain}-${i}`;
    this.ids.add(id);
    return id;
  }
}
