import { readFile } from "node:fs/promises";
import { type Document, isMap, isNode, LineCounter, parseDocument, stringify, visit } from "yaml";
import type { z } from "zod";
import type { RuleInput } from "./rule.ts";
import { furtherProblems } from "./rule-problems.ts";
import { partsOfList } from "./rules-file.fast.ts";
import { rulesFile } from "./rules-file-schema.ts";

/** One thing that is wrong with a file, and where. Lines and columns count from 1. */
export interface FileProblem {
  readonly line: number;
  readonly column: number;
  /** As in `rules[3].limit`; empty for the file itself. */
  readonly field: string;
  readonly problem: string;
}

/** A file that cannot be used; nothing in it is applied. */
export class RulesFileError extends Error {
  override readonly name = "RulesFileError";
  readonly code = "HG_BAD_RULES";
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    const first = `${file}:${toldWithPlace(problems[0])}`;
    super(problems.length === 1 ? first : `${first} (and ${problems.length - 1} more)`);
    this.problems = problems;
  }
}

/** `7:12: rules[3].limit: must be …` */
function toldWithPlace({ line, column, field, problem }: FileProblem): string {
  return `${line}:${column}: ${field === "" ? "" : `${field}: `}${problem}`;
}

/** Reads the rules of a YAML file. Throws a RulesFileError with all problems. */
export async function readRulesFile(path: string): Promise<readonly RuleInput[]> {
  return parseRules(await readFile(path, "utf8"), path);
}

/** The same for a text; `name` identifies it in messages. */
export function parseRules(text: string, name: string): readonly RuleInput[] {
  return parsedInParts(text) ?? parsedAsWhole(text, name);
}

const READING = { prettyErrors: false, uniqueKeys: true } as const;
/** Aliases are allowed, but must not expand a small file to a huge one. */
const PLAIN = { maxAliasCount: 1_000 } as const;

/** Undefined if the file is not a plain list, or is invalid: it is then parsed as a whole, which gives positions. */
function parsedInParts(text: string): readonly RuleInput[] | undefined {
  const parts = partsOfList(text);
  if (parts === undefined) return undefined;
  const rules: RuleInput[] = [];
  for (const part of parts) {
    const { data } = rulesFile.safeParse({ rules: listIn(part) });
    if (data === undefined) return undefined;
    for (const rule of data.rules) rules.push(rule);
  }
  return repetitions(rules).length === 0 ? rules : undefined;
}

function listIn(part: string): unknown {
  const document = parseDocument(part, READING);
  if (document.errors.length + document.warnings.length > 0) return undefined;
  try {
    return document.toJS(PLAIN);
  } catch {
    // An alias to another part, or too many of them.
    return undefined;
  }
}

function parsedAsWhole(text: string, name: string): readonly RuleInput[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...READING, lineCounter: lines });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const problemAt = (path: readonly PropertyKey[], problem: string): FileProblem => {
    return { ...place(offsetOf(document, path)), field: fieldOf(path), problem };
  };
  const ofFile = (offset: number, problem: string): FileProblem => ({ ...place(offset), field: "", problem });
  const syntax = [...document.errors, ...document.warnings];
  if (syntax.length > 0) {
    throw new RulesFileError(
      name,
      syntax.map(({ pos, message }) => ofFile(pos[0], message)),
    );
  }
  const value = plain(document, (offset, problem) => new RulesFileError(name, [ofFile(offset, problem)]));
  const { data, error } = rulesFile.safeParse(value);
  if (error !== undefined) {
    const further = furtherProblems(value, error.issues);
    throw new RulesFileError(
      name,
      [
        ...error.issues.flatMap((issue) => told(issue, problemAt)),
        ...further.issues.map(({ path, message }) => problemAt(path, message)),
        ...repetitions(further.rules).map(([i, field, problem]) => problemAt(["rules", i, field], problem)),
      ].sort((a, b) => a.line - b.line || a.column - b.column),
    );
  }
  const repeated = repetitions(data.rules);
  if (repeated.length > 0) {
    throw new RulesFileError(
      name,
      repeated.map(([i, field, problem]) => problemAt(["rules", i, field], problem)),
    );
  }
  return data.rules;
}

/** Formats rules as a file, without fields that are null by default. */
export function rulesText(rules: readonly RuleInput[]): string {
  const short = rules.map((rule) => Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null)));
  return stringify({ rules: short }, { lineWidth: 0, aliasDuplicateObjects: false });
}

function plain(document: Document, refuse: (offset: number, problem: string) => RulesFileError): unknown {
  try {
    return document.toJS(PLAIN);
  } catch (error) {
    let offset = 0;
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return undefined;
        offset = alias.range?.[0] ?? 0;
        return visit.BREAK;
      },
    });
    throw refuse(offset, error instanceof Error ? error.message : String(error));
  }
}

function told(
  issue: z.core.$ZodIssue,
  problemAt: (path: readonly PropertyKey[], problem: string) => FileProblem,
): FileProblem[] {
  if (issue.code !== "unrecognized_keys") return [problemAt(issue.path, issue.message)];
  const known = issue.message.slice(issue.message.indexOf("(known:"));
  return issue.keys.map((key) => problemAt([...issue.path, key], `is not a known field ${known}`));
}

/** Duplicate rules: the later of the two, its field, and why. Absent fields are unknown. */
function repetitions(rules: readonly Partial<RuleInput>[]): [index: number, field: keyof RuleInput, problem: string][] {
  const found: [number, keyof RuleInput, string][] = [];
  const ids = new Map<string, number>();
  const places = new Map<string, number>();
  for (const [i, rule] of rules.entries()) {
    const { rule_id } = rule;
    const place = placeOf(rule);
    const sameId = rule_id === undefined ? undefined : ids.get(rule_id);
    const samePlace = place === undefined ? undefined : places.get(place);
    if (sameId !== undefined) {
      found.push([i, "rule_id", `${rule_id} is that of rules[${sameId}] too: give each rule one of its own`]);
    } else if (samePlace !== undefined) {
      const problem = `rules[${samePlace}] has the same dimension, pattern, window and tier: remove one of them`;
      found.push([i, "endpoint_pattern", problem]);
    }
    if (rule_id !== undefined) ids.set(rule_id, sameId ?? i);
    if (place !== undefined) places.set(place, samePlace ?? i);
  }
  return found;
}

/** Undefined while one of the fields it consists of is unknown. */
function placeOf({ dimension, endpoint_pattern, window_seconds, tier }: Partial<RuleInput>): string | undefined {
  const place = [dimension, endpoint_pattern, window_seconds, tier];
  return place.includes(undefined) ? undefined : JSON.stringify(place);
}

/** Position of the value at a path, otherwise of what should contain it; for a pair, of its name. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const key = path[length - 1];
    const pair = isMap(parent) ? parent.items.find((item) => String(item.key) === String(key)) : undefined;
    const node = pair?.value ?? pair?.key ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === "number") return `${field}[${step}]`;
    return field === "" ? String(step) : `${field}.${String(step)}`;
  }, "");
}
