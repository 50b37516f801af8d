import { dimensionFor } from "./identity-names.ts";
import { type ImportedRules, METER, QUEUE } from "./imported-rules.ts";

/** A directive with what is in its braces. */
interface Directive {
  readonly line: number;
  readonly words: readonly string[];
  readonly block: readonly Directive[];
}

interface Zone {
  readonly line: number;
  readonly key: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

const RATE = /^rate=(\d+)r\/(s|m)$/;

/** Converts `limit_req_zone` and `limit_req` of an nginx configuration. */
export function importNginx(text: string, _name: string, into: ImportedRules): void {
  const tokens = tokensOf(text);
  const root = directives(tokens, { at: 0 });
  const zones = new Map<string, Zone>();
  visit(root, "/**", (directive) => {
    const [name, ...words] = directive.words;
    if (name === "limit_req_zone") addZone(directive.line, words, zones, into);
  });
  visit(root, "/**", ({ words: [name, ...words], line }, pattern) => {
    if (name === "limit_conn") {
      into.note(line, "limit_conn has no equivalent: rules count requests, not connections");
    } else if (name === "limit_req") addRule(line, words, pattern, zones, into);
  });
}

function addZone(line: number, words: readonly string[], zones: Map<string, Zone>, into: ImportedRules): void {
  const zone = words
    .find((word) => word.startsWith("zone="))
    ?.slice(5)
    .split(":")[0];
  const rate = words.map((word) => RATE.exec(word)).find((found) => found !== null);
  if (zone === undefined || rate === undefined || rate === null) {
    into.note(line, "limit_req_zone needs a key, zone=NAME:SIZE and rate=NUMBERr/s or r/m");
    return;
  }
  zones.set(zone, { line, key: words[0], limit: Number(rate[1]), windowSeconds: rate[2] === "s" ? 1 : 60 });
}

function addRule(
  line: number,
  words: readonly string[],
  pattern: string | undefined,
  zones: ReadonlyMap<string, Zone>,
  into: ImportedRules,
): void {
  const name = words.find((word) => word.startsWith("zone="))?.slice(5) ?? "";
  const zone = zones.get(name);
  const dimension = zone && dimensionFor(zone.key.replace(/^\$(http_)?/, ""));
  if (zone === undefined) into.note(line, `limit_req: there is no limit_req_zone ${name}`);
  else if (pattern === undefined)
    into.note(line, `zone ${name} has no equivalent: patterns are not regular expressions`);
  else if (dimension === undefined) {
    into.note(line, `zone ${name} has no equivalent: it counts by ${zone.key}, and a rule by user, address or API key`);
  } else {
    const burst = Number(words.find((word) => word.startsWith("burst="))?.slice(6) ?? 0);
    // nginx admits one request at once and `burst` more, which it delays unless `nodelay` is set.
    const isDelayed = burst > 0 && !words.some((word) => word === "nodelay");
    if (words.some((word) => word.startsWith("delay="))) into.note(line, `zone ${name}: delay= is not carried over`);
    into.add(line, {
      name: `${name} ${pattern}`,
      dimension,
      endpoint_pattern: pattern,
      limit: zone.limit,
      window_seconds: zone.windowSeconds,
      algorithm: isDelayed ? QUEUE : METER,
      burst: burst + 1,
    });
  }
}

/** Calls back for each directive with the pattern of its location; undefined if that is a regular expression. */
function visit(
  all: readonly Directive[],
  pattern: string | undefined,
  onDirective: (directive: Directive, pattern: string | undefined) => void,
): void {
  for (const directive of all) {
    onDirective(directive, pattern);
    const [name, ...words] = directive.words;
    visit(directive.block, name === "location" ? patternOf(words) : pattern, onDirective);
  }
}

/** The pattern of a location: exact, or everything below a prefix. */
function patternOf(words: readonly string[]): string | undefined {
  const [modifier, path] = words.length > 1 ? words : ["", words[0] ?? "/"];
  if (modifier.startsWith("~")) return undefined;
  return modifier === "=" ? path : `${path.replace(/\/$/, "")}/**`;
}

interface Token {
  readonly text: string;
  readonly line: number;
}

/** Words, quoted words, braces and semicolons, without comments. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    for (const [word] of line.matchAll(/#.*|"[^"]*"|'[^']*'|[{};]|[^\s{};"'#]+/g)) {
      if (!word.startsWith("#")) tokens.push({ text: word.replaceAll(/^["']|["']$/g, ""), line: i + 1 });
    }
  }
  return tokens;
}

function directives(tokens: readonly Token[], cursor: { at: number }): Directive[] {
  const found: Directive[] = [];
  let words: Token[] = [];
  for (; cursor.at < tokens.length; cursor.at += 1) {
    const token = tokens[cursor.at];
    if (token.text === "}") return found;
    if (token.text !== ";" && token.text !== "{") {
      words.push(token);
      continue;
    }
    let block: Directive[] = [];
    if (token.text === "{") {
      cursor.at += 1;
      block = directives(tokens, cursor);
    }
    if (words.length > 0) found.push({ line: words[0].line, words: words.map(({ text }) => text), block });
    words = [];
  }
  return found;
}
