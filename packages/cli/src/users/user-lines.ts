import { InvalidInput } from "../failure.ts";
import { CsvFault, CsvReader, type CsvRecord } from "./csv.ts";

/** A user as read from a file, not yet validated, with its position. */
export interface UserLine {
  readonly line: number;
  readonly value: unknown;
}

export type Format = "csv" | "jsonl";

const COLUMNS = ["user_id", "tier"];
/** Bounds memory if a line never ends. */
const LONGEST_LINE = 1024 * 1024;

/** Reads the users of a file one by one. Throws at the first that cannot be parsed. */
export async function* userLines(pieces: AsyncIterable<Buffer>, name: string, format: Format): AsyncIterable<UserLine> {
  yield* format === "csv" ? csvUsers(textOf(pieces, name), name) : jsonUsers(textOf(pieces, name), name);
}

async function* jsonUsers(pieces: AsyncIterable<string>, name: string): AsyncIterable<UserLine> {
  let rest = "";
  let line = 0;
  const read = (text: string): UserLine[] => {
    line += 1;
    if (text.length > LONGEST_LINE) throw fault(name, line, "the line is too long");
    return text.trim() === "" ? [] : [{ line, value: parsed(text, name, line) }];
  };
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw fault(name, line + lines.length + 1, "the line is too long");
    for (const text of lines) yield* read(text);
  }
  yield* read(rest);
}

function parsed(text: string, name: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw fault(
      name,
      line,
      'is not valid JSON; each line must be one user, as in {"user_id": "42", "tier": "premium"}',
    );
  }
}

async function* csvUsers(pieces: AsyncIterable<string>, name: string): AsyncIterable<UserLine> {
  const reader = new CsvReader();
  let columns: readonly string[] | undefined;
  const read = (record: CsvRecord): UserLine[] => {
    if (columns !== undefined) return [userOf(record, columns, name)];
    columns = columnsOf(record, name);
    return [];
  };
  try {
    for await (const piece of pieces) for (const record of reader.write(piece)) yield* read(record);
    const last = reader.end();
    if (last !== undefined) yield* read(last);
  } catch (error) {
    throw error instanceof CsvFault ? fault(name, error.line, error.message) : error;
  }
}

function columnsOf({ line, fields }: CsvRecord, name: string): readonly string[] {
  const columns = fields.map((field) => field.trim());
  const isKnown = columns.every((column, i) => COLUMNS.includes(column) && columns.indexOf(column) === i);
  if (!isKnown || columns.length !== COLUMNS.length) throw fault(name, line, "the first line must be user_id,tier");
  return columns;
}

/** An empty tier means no tier. */
function userOf({ line, fields }: CsvRecord, columns: readonly string[], name: string): UserLine {
  if (fields.length !== columns.length) {
    throw fault(name, line, `must have ${columns.length} fields, got ${fields.length}`);
  }
  const tier = fields[columns.indexOf("tier")];
  return { line, value: { user_id: fields[columns.indexOf("user_id")], tier: tier === "" ? null : tier } };
}

async function* textOf(pieces: AsyncIterable<Buffer>, name: string): AsyncIterable<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
    yield decoder.decode();
  } catch (error) {
    throw error instanceof TypeError ? new InvalidInput(`${name}: is not valid UTF-8`) : error;
  }
}

function fault(name: string, line: number, problem: string): InvalidInput {
  return new InvalidInput(`${name}:${line}: ${problem}`);
}
