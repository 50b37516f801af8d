import { HeadgateError } from "headgate";
import { costOf, pathOf } from "./field-values.ts";
import type { FieldMapping, LineParser, LineRequest, LineResult, LogFormat } from "./log-format.ts";
import { COMMON_TIME_LENGTH, commonTime } from "./log-time.ts";

/** The names that nginx has for the fields. Those of the request line come first, because they are always read. */
const FIELDS = [
  "remote_addr",
  "remote_user",
  "method",
  "path",
  "status",
  "body_bytes_sent",
  "http_referer",
  "http_user_agent",
] as const;
type Field = (typeof FIELDS)[number];

const [SPACE, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c];

/** The combined log format of nginx and Apache; the last two fields may be missing, as in the common format. */
export const combined: LogFormat = {
  name: "combined",
  open({ key = "remote_addr", time = "time_local", path = "path", method = "method", cost }: FieldMapping): LineParser {
    for (const [option, name, only] of [
      ["time", time, "time_local"],
      ["path", path, "path"],
      ["method", method, "method"],
    ]) {
      if (name !== only) throw new HeadgateError("HG_BAD_OPTION", option, `must be ${only} in the combined format`);
    }
    return new CombinedParser(fieldOf("key", key), cost === undefined ? undefined : fieldOf("cost", cost));
  },
};

function fieldOf(option: string, name: string): Field {
  const field = FIELDS.find((known) => known === name);
  if (field !== undefined) return field;
  throw new HeadgateError("HG_BAD_OPTION", option, `the combined format has no field ${name} (${FIELDS.join(", ")})`);
}

class CombinedParser implements LineParser {
  readonly #key: Field;
  readonly #cost: Field | undefined;
  /** Consecutive lines often have the same time. */
  #timeText = "never";
  #time = Number.NaN;

  constructor(key: Field, cost: Field | undefined) {
    this.#key = key;
    this.#cost = cost;
  }

  read(text: string, start: number, end: number, into: LineRequest): LineResult {
    const address = text.indexOf(" ", start);
    const open = text.indexOf("[", address);
    if (address < 0 || open < 0 || open >= end) return "has no time in brackets";
    const quote = open + COMMON_TIME_LENGTH + 3;
    if (quote >= end || text.charCodeAt(quote) !== QUOTE) return "has no request line in quotes after the time";
    if (!text.startsWith(this.#timeText, open + 1)) {
      this.#timeText = text.slice(open + 1, open + 1 + COMMON_TIME_LENGTH);
      this.#time = commonTime(this.#timeText);
    }
    if (Number.isNaN(this.#time)) return "has no time such as 10/Oct/2000:13:55:36 -0700";
    const close = closingQuote(text, quote + 1, end);
    const method = text.indexOf(" ", quote + 1);
    if (close < 0) return "has no end of the request line";
    if (method < 0 || method >= close || method === quote + 1) return "has no method and path in the request line";
    // The protocol follows the path, except in HTTP 0.9.
    const last = text.lastIndexOf(" ", close);
    const path = last > method ? last : close;
    into.time = this.#time;
    into.method = text.slice(quote + 1, method);
    into.path = pathOf(text.slice(method + 1, path));
    into.key = text.slice(start, address);
    into.cost = 1;
    if (this.#key === "remote_addr" && this.#cost === undefined) return undefined;
    return this.#mapped(text.slice(start, end), address - start, open - start, close - start, into);
  }

  #mapped(line: string, address: number, open: number, close: number, into: LineRequest): LineResult {
    const [, status, size, , referer, , agent] = REST.exec(line.slice(close + 1)) ?? [];
    const fields: Readonly<Record<Field, string | undefined>> = {
      remote_addr: into.key,
      // Between the address and the user is the identity of identd.
      remote_user: line
        .slice(address, open)
        .trim()
        .replace(/^\S+\s+/, ""),
      method: into.method,
      path: into.path,
      status,
      body_bytes_sent: size === "-" ? "0" : size,
      http_referer: referer,
      http_user_agent: agent,
    };
    const key = fields[this.#key];
    if (key === undefined || key === "" || key === "-") return `key: ${this.#key} is empty`;
    into.key = key;
    if (this.#cost === undefined) return undefined;
    into.cost = costOf(fields[this.#cost]);
    return Number.isNaN(into.cost) ? `cost: ${this.#cost} is not a whole number` : undefined;
  }
}

const REST = /^ (\d+) (\d+|-)( "((?:[^"\\]|\\.)*)")?( "((?:[^"\\]|\\.)*)")?/;

/** The quote that ends a string, in which Apache writes a quote as \\". */
function closingQuote(text: string, from: number, end: number): number {
  for (let at = text.indexOf('"', from); at >= 0 && at < end; at = text.indexOf('"', at + 1)) {
    let escapes = at;
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    const isEnd = at + 1 === end || text.charCodeAt(at + 1) === SPACE;
    if ((at - escapes) % 2 === 0 && isEnd) return at;
  }
  return -1;
}
