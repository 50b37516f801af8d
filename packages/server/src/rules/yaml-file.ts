import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { fieldAt } from "./field-path.ts";
import { type FileProblem, RulesFileError } from "./rules-file-error.ts";

export const READING = { prettyErrors: false, uniqueKeys: true } as const;
/** Aliases are allowed, but must not expand a small file to a huge one. */
export const PLAIN = { maxAliasCount: 1_000 } as const;

/** The parser's own message is advice for programmers. */
const SEVERAL_DOCUMENTS = "has more than one document: use a file for each of them";

export interface YamlFileOptions {
  /** Fields with text: what looks like a number or a boolean there is read as it is written, such as 007. */
  readonly texts?: ReadonlySet<string>;
  /** Whether `<<` merges the fields of another object, as in YAML 1.1. */
  readonly merge?: boolean;
}

/** A YAML file whose problems are reported with their line and column. */
export class YamlFile {
  readonly value: unknown;
  private readonly document: Document;
  private readonly lines = new LineCounter();

  /** Throws a RulesFileError if it is not valid YAML. `name` identifies it in messages. */
  constructor(text: string, name: string, { texts, merge = false }: YamlFileOptions = {}) {
    this.document = parseDocument(text, { ...READING, merge, lineCounter: this.lines });
    const ofFile = (offset: number, problem: string): FileProblem => ({ ...this.place(offset), field: "", problem });
    const syntax = [...this.document.errors, ...this.document.warnings];
    if (syntax.length > 0) {
      throw new RulesFileError(
        name,
        syntax.map(({ pos, code, message }) => ofFile(pos[0], code === "MULTIPLE_DOCS" ? SEVERAL_DOCUMENTS : message)),
      );
    }
    if (texts !== undefined) keepTexts(this.document, texts);
    this.value = plain(this.document, (offset, problem) => new RulesFileError(name, [ofFile(offset, problem)]));
  }

  /** A problem with the value at a path. */
  problemAt(path: readonly PropertyKey[], problem: string): FileProblem {
    return { ...this.place(offsetOf(this.document, path)), field: fieldAt(path), problem };
  }

  /** What a schema found. */
  problemsOf(issues: readonly z.core.$ZodIssue[]): FileProblem[] {
    return issues.flatMap((issue) => told(issue, (path, problem) => this.problemAt(path, problem)));
  }

  private place(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line, column: col };
  }
}

function keepTexts(document: Document, fields: ReadonlySet<string>): void {
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !fields.has(String(key.value)) || !isScalar(value)) return;
      if (typeof value.value === "number" || typeof value.value === "boolean") value.value = value.source;
    },
  });
}

function plain(document: Document, reject: (offset: number, problem: string) => RulesFileError): unknown {
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
    throw reject(offset, error instanceof Error ? error.message : String(error));
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
