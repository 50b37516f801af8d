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

/** What applies to the directives of a block. */
interface Scope {
  /** Of the location; undefined if that is a regular expression. */
  readonly pattern: string | undefined;
  readonly isDryRun: boolean;
  /** Whether an enclosing block has limits. */
  readonly isLimited: boolean;
}

const HTTP: Scope = { pattern: "/**", isDryRun: false, isLimited: false };

/** Converts `limit_req_zone` and `limit_req` of an nginx configuration. */
export function importNginx(text: string, _name: string, into: ImportedRules): void {
  const root = directives(tokensOf(text), { at: 0 });
  const zones = new Map<string, Zone>();
  const servers: Directive[] = [];
  visit(root, HTTP, (directive) => {
    const [name, ...words] = directive.words;
    if (name === "limit_req_zone") addZone(directive.line, words, zones, into);
    else if (name === "include") into.note(directive.line, `include ${words.join(" ")} is not followed`);
    else if (name === "server" && directive.block.length > 0) servers.push(directive);
  });
  if (servers.length > 1) {
    into.note(servers[1].line, "server has no equivalent: rules apply to all hosts");
  }
  const used = new Set<string>();
  visit(root, HTTP, ({ words: [name, ...words], line }, scope) => {
    if (name === "limit_conn") {
      into.note(line, "limit_conn has no equivalent: rules count requests, not connections");
    } else if (name === "limit_req") addRule(line, words, scope, zones, used, into);
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
  { pattern, isDryRun, isLimited }: Scope,
  zones: ReadonlyMap<string, Zone>,
  used: Set<string>,
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
    if (isLimited) {
      into.note(line, `zone ${name}: in nginx, it replaces the limits of the enclosing block; rules apply together`);
    }
    if (used.has(name)) into.note(line, `zone ${name}: its places share a counter in nginx; each rule has its own`);
    used.add(name);
    into.add(line, {
      name: `${name} ${pattern}`,
      dimension,
      endpoint_pattern: pattern,
      limit: zone.limit,
      window_seconds: zone.windowSeconds,
      algorithm: isDelayed ? QUEUE : METER,
      burst: burst + 1,
      mode: isDryRun ? "shadow" : "enforce",
    });
  }
}

/** Calls back for each directive with its scope. */
function visit(
  all: readonly Directive[],
  scope: Scope,
  onDirective: (directive: Directive, scope: Scope) => void,
): void {
  const dryRun = all.filter(({ words }) => words[0] === "limit_req_dry_run").at(-1);
  const isDryRun = dryRun === undefined ? scope.isDryRun : dryRun.words[1] === "on";
  const isLimited = scope.isLimited || all.some(({ words }) => words[0] === "limit_req");
  for (const directive of all) {
    onDirective(directive, { ...scope, isDryRun });
    const [name, ...words] = directive.words;
    const pattern = name === "location" ? patternOf(words) : scope.pattern;
    visit(directive.block, { pattern, isDryRun, isLimited }, onDirective);
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
