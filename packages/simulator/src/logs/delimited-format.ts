import { HeadgateError } from "headgate";
import { requestFrom } from "./field-values.ts";
import type { FieldNames } from "./json-format.ts";
import type { FieldMapping, LineParser, LineRequest, LineResult, LogFormat } from "./log-format.ts";
import { SKIPPED } from "./log-format.ts";

/** Where the fields are in a line. */
interface Columns {
  readonly time: readonly number[];
  readonly key: number;
  readonly path: number;
  readonly method: number;
  readonly cost: number;
}

/** CSV with a header line. The delimiter is a comma, a semicolon or a tab, whichever the header has most of. */
export function csvFormat(names: FieldNames): LogFormat {
  return { name: "csv", open: (mapping) => new CsvParser(names, mapping) };
}

class CsvParser implements LineParser {
  readonly #names: FieldNames;
  readonly #mapping: FieldMapping;
  #delimiter = ",";
  #columns: Columns | undefined;

  constructor(names: FieldNames, mapping: FieldMapping) {
    this.#names = names;
    this.#mapping = mapping;
  }

  read(text: string, start: number, end: number, into: LineRequest): LineResult {
    const line = text.slice(start, end);
    if (line.trim() === "") return SKIPPED;
    if (this.#columns === undefined) {
      this.#delimiter = delimiterOf(line);
      this.#columns = columnsOf(splitCsv(line, this.#delimiter), this.#names, this.#mapping);
      return SKIPPED;
    }
    const { time, key, path, method, cost } = this.#columns;
    const cells = splitCsv(line, this.#delimiter);
    const values = { time: cells[time[0]], key: cells[key], path: cells[path], method: cells[method] };
    return requestFrom({ ...values, cost: cost < 0 ? undefined : (cells[cost] ?? "") }, into);
  }
}

const CLOUDFRONT: FieldNames = {
  time: ["time"],
  key: ["c-ip"],
  path: ["cs-uri-stem"],
  method: ["cs-method"],
};

/** The access logs of Amazon CloudFront: W3C extended, tabs between fields, named by a comment line. */
export const cloudfront: LogFormat = {
  name: "cloudfront",
  open: (mapping) => new CloudFrontParser(mapping),
};

class CloudFrontParser implements LineParser {
  readonly #mapping: FieldMapping;
  #columns: Columns | undefined;

  constructor(mapping: FieldMapping) {
    this.#mapping = mapping;
  }

  read(text: string, start: number, end: number, into: LineRequest): LineResult {
    const line = text.slice(start, end);
    if (line.startsWith("#Fields:")) {
      const names = line.slice(8).trim().split(/\s+/);
      const { time, ...columns } = columnsOf(names, CLOUDFRONT, this.#mapping);
      // Date and time are separate fields, unless another one was asked for.
      this.#columns = { ...columns, time: this.#mapping.time === undefined ? [names.indexOf("date"), ...time] : time };
    }
    if (line.startsWith("#") || line.trim() === "") return SKIPPED;
    if (this.#columns === undefined) return "comes before the line #Fields";
    const { time, key, path, method, cost } = this.#columns;
    const cells = line.split("\t");
    return requestFrom(
      {
        time: time.map((column) => cells[column]).join(" "),
        key: decoded(cells[key]),
        path: cells[path],
        method: cells[method],
        cost: cost < 0 ? undefined : (cells[cost] ?? ""),
      },
      into,
    );
  }
}

/** CloudFront encodes values once more. */
function decoded(value: string | undefined): string | undefined {
  if (value === undefined || !value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function columnsOf(header: readonly string[], names: FieldNames, mapping: FieldMapping): Columns {
  const find = (option: keyof FieldMapping, candidates: readonly string[]): number => {
    const stated = mapping[option];
    const wanted = stated === undefined ? candidates : [stated];
    for (const name of wanted) {
      const column = header.findIndex((cell) => cell.trim().toLowerCase() === name.toLowerCase());
      if (column >= 0) return column;
    }
    const isOptional = option === "path" || option === "method" || option === "cost";
    if (stated === undefined && isOptional) return -1;
    const known = header.slice(0, 30).map((cell) => cell.trim().slice(0, 40));
    throw new HeadgateError(
      "HG_BAD_OPTION",
      option,
      `the header has none of ${wanted.join(", ")} (${known.join(", ")})`,
    );
  };
  return {
    time: [find("time", names.time)],
    key: find("key", names.key),
    path: find("path", names.path),
    method: find("method", names.method),
    cost: find("cost", []),
  };
}

function delimiterOf(header: string): string {
  const counts = [",", ";", "\t"].map((delimiter) => ({ delimiter, count: header.split(delimiter).length }));
  return counts.reduce((most, other) => (other.count > most.count ? other : most)).delimiter;
}

/** The cells of a line. A cell in quotes may contain the delimiter, and a quote as two. */
function splitCsv(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  let at = 0;
  while (at <= line.length) {
    if (line[at] !== '"') {
      const end = line.indexOf(delimiter, at);
      cells.push(line.slice(at, end < 0 ? line.length : end));
      at = end < 0 ? line.length + 1 : end + 1;
      continue;
    }
    let cell = "";
    for (at += 1; ; at += 2) {
      const quote = line.indexOf('"', at);
      cell += line.slice(at, quote < 0 ? line.length : quote);
      at = quote < 0 ? line.length : quote;
      if (line[at + 1] !== '"') break;
      cell += '"';
    }
    cells.push(cell);
    const end = line.indexOf(delimiter, at);
    at = end < 0 ? line.length + 1 : end + 1;
  }
  return cells;
}
