import { createHash } from "node:crypto";
import type { Limit } from "../../limits/limit.ts";
import { lua } from "../../lua.generated.ts";

export interface Script {
  readonly text: string;
  readonly sha: string;
}

const INCLUDE = /^( *)--- @include "([\w-]+)"\n/gm;

/** What the Lua version of an algorithm may define for the scripts that include it. */
const EXPORTS = [
  ...["FORMAT", "BYTES", "GROWTH", "read_limit", "covers", "blank", "evaluate", "charge", "refund", "outgrown"],
  ...["LEASES", "take_slots", "extend_slots", "release_slots"],
];

/** The texts by the names of their files. */
const texts = new Map(
  Object.entries(lua).map(([file, text]) => [file.slice(file.lastIndexOf("/") + 1, -".lua".length), text]),
);

/** What a script is linked with. */
interface Linking {
  /** For coarse limits, `coarse-<name>` is included instead of `<name>` if it exists. */
  readonly isCoarse?: boolean;
  /** Texts that are not files, by name. */
  readonly others?: ReadonlyMap<string, string>;
}

/**
 * A file with all that it includes. What is included at the outermost level is in scope from then on, and is not included
 * again.
 */
function linked(name: string, linking: Linking = {}, inScope: Set<string> = new Set()): string {
  const { isCoarse = false, others } = linking;
  const text = others?.get(name) ?? texts.get(name);
  if (text === undefined) throw new Error(`there is no ${name}.lua`);
  return text.replace(INCLUDE, (_, indentation: string, included: string) => {
    if (inScope.has(included)) return "";
    const isOutermost = indentation === "";
    if (isOutermost) inScope.add(included);
    const coarse = `coarse-${included}`;
    return linked(isCoarse && texts.has(coarse) ? coarse : included, linking, isOutermost ? inScope : new Set(inScope));
  });
}

/** A line that calls a function of an algorithm. Its arguments have the names of the parameters. */
const CALL = /^ *(?:local (.+) = )?(read_limit|blank|evaluate|charge|refund)\(.*\)\n/gm;

/** Inlines an algorithm's functions: in a script, creating a function costs more than running it once. */
function inlined(text: string, twin: string): string {
  return text.replace(CALL, (_, results: string | undefined, name: string) => {
    const whole = new RegExp(`^local function ${name}\\(.*\\)\n([^]*?)(?:^  return (.*)\n)?^end\n`, "m").exec(twin);
    if (whole === null) throw new Error(`a twin has no ${name}`);
    return results === undefined ? whole[1] : whole[1] + assigned(results, whole[2]);
  });
}

/** Assigns what a function returns, unless it has the same name already. */
function assigned(results: string, returned: string): string {
  const values = returned.split(", ");
  const pairs = results.split(", ").map((name, i) => [name, values[i]] as const);
  const others = pairs.filter(([name, value]) => name !== value);
  const given = others.flatMap(([, value]) => value ?? []);
  return `local ${others.map(([name]) => name).join(", ")} = ${given.join(", ")}\n`;
}

/** `local A, B = 1, "two"` of the outermost level. */
const CONSTANTS = /^local ([\w, ]+) = ((?:(?:-?[\d.]+(?: \/ 0)?|"[^"]*"|true|false)(?:, )?)+)\n/gm;

/** Replaces constants by their values, because a variable would have to be assigned first. */
function withConstants(text: string): string {
  const values = new Map<string, string>();
  const rest = text.replace(CONSTANTS, (_, names: string, literals: string) => {
    const parts = literals.split(", ");
    for (const [i, name] of names.split(", ").entries()) values.set(name, parts[i]);
    return "";
  });
  return rest.replace(/(?<![."\w])[A-Za-z_]\w*\b/g, (word) => values.get(word) ?? word);
}

/** Replaces the table of cells by local variables, which cost nothing. */
function withLocalCells(text: string): string {
  const flat = text.replace(/\bcells\[(\d)\]/g, "cell_$1").replace("local cells\n", "local cell_1, cell_2, cell_3\n");
  if (/\bcells\b/.test(flat)) throw new Error("a twin passes its cells on, so they cannot be local variables");
  return flat;
}

const HEAD = /^local ([\w, ]+) = unpack_from\("(.+)", ARGV\[1\]\)\n/m;
const LIMIT = /^ *local after\n *([\w, ]+), after = struct\.unpack\("<(.+)", .*\)\n/m;

/** Reads the head and the limit behind it with one call, where the fields of the limit are declared. */
function withOneUnpack(text: string): string {
  const [head, limit] = [HEAD.exec(text), LIMIT.exec(text)];
  const declared = `local ${limit?.[1]}\n`;
  if (head === null || limit === null || !text.includes(declared))
    throw new Error("a twin reads its limit differently");
  const read = `local ${head[1]}, ${limit[1]} = unpack_from("${head[2]}${limit[2]}", ARGV[1])\n`;
  return text.replace(head[0], "").replace(limit[0], "").replace(declared, read);
}

/** Leaves out functions and variables of the outermost level that nothing uses. */
function shaken(text: string): string {
  for (const [whole, name] of text.matchAll(/^local function (\w+)\(.*?^end\n/gms)) {
    if (!isUsed(name, text.replace(whole, ""))) return shaken(text.replace(whole, ""));
  }
  return text.replace(/^local ([\w, ]+)(?: = ((?:\w+\.\w+(?:, )?)+))?\n/gm, (whole, names: string, values?: string) => {
    const rest = text.replace(whole, "");
    const given = values?.split(", ");
    const pairs = names.split(", ").flatMap((name, i) => (isUsed(name, rest) ? [[name, given?.[i]]] : []));
    if (pairs.length === 0) return "";
    const left = `local ${pairs.map(([name]) => name).join(", ")}`;
    return given === undefined ? `${left}\n` : `${left} = ${pairs.map(([, value]) => value).join(", ")}\n`;
  });
}

function isUsed(name: string, text: string): boolean {
  return new RegExp(`(?<![.\\w])${name}\\b`).test(text);
}

/** An algorithm's own script, as flat as it can be. */
function flattened(text: string): string {
  return withLocalCells(shaken(withConstants(text)));
}

/**
 * The flags make a replica and a server without memory refuse a call before it begins, and let it have keys of several
 * slots that one node serves.
 */
function script(text: string): Script {
  const whole = `#!lua flags=allow-cross-slot-keys\n${text}`;
  return { text: whole, sha: createHash("sha1").update(whole).digest("hex") };
}

/** An algorithm in Lua: `algorithm` is the name of its file. */
export class Twin {
  readonly name: string;
  /** Its own script for takes; undefined if its rows grow. */
  readonly take: Script | undefined;
  readonly text: string;
  private readonly isCoarse: boolean;
  private reserveScript: Script | undefined;

  constructor(algorithm: string, isCoarse: boolean) {
    this.name = isCoarse ? `coarse-${algorithm}` : algorithm;
    this.text = linked(algorithm, { isCoarse });
    this.isCoarse = isCoarse;
    this.take = this.defines("FORMAT") ? script(flattened(withOneUnpack(shaken(this.around("take"))))) : undefined;
  }

  /** Its own script for reservations, made when it is used first; undefined if its rows grow. */
  get reserve(): Script | undefined {
    if (this.take !== undefined) this.reserveScript ??= script(flattened(this.around("reserve")));
    return this.reserveScript;
  }

  /** As a value that the script for any batch can use. */
  get asTable(): string {
    const exported = EXPORTS.filter((name) => this.defines(name));
    return `(function()\n${this.text}return { ${exported.map((name) => `${name} = ${name}`).join(", ")} }\nend)()`;
  }

  /** A file that includes the algorithm, with its functions inlined. */
  private around(file: string): string {
    const others = new Map([["algorithm", this.text]]);
    // Only a calendar has windows that may be unknown.
    if (!this.defines("covers")) others.set("window-check", "");
    return inlined(linked(file, { isCoarse: this.isCoarse, others }), this.text);
  }

  private defines(name: string): boolean {
    return new RegExp(`^local (function )?(\\w+, )*${name}\\b`, "m").test(this.text);
  }
}

const twins = new Map<string, Twin>();
for (const file of Object.keys(lua)) {
  const name = /^algorithms\/([\w-]+)\/(\1(?:-calendar)?)\.lua$/.exec(file)?.[2];
  if (name === undefined) continue;
  const [fine, coarse] = [new Twin(name, false), new Twin(name, true)];
  twins.set(fine.name, fine);
  if (coarse.text !== fine.text) twins.set(coarse.name, coarse);
}

/** The twin that decides under a limit. */
export function twinOf({ algorithm, calendar, coarse }: Limit): Twin {
  const name = algorithm.replaceAll("_", "-");
  const own = calendar === undefined ? coarse && twins.get(`coarse-${name}`) : twins.get(`${name}-calendar`);
  const twin = own || twins.get(name);
  if (twin === undefined) throw new Error(`there is no ${name}.lua`);
  return twin;
}

/** Decides any batch. A twin is run when it is used first, so that a call pays only for those that it needs. */
export const REQUESTS = script(
  [
    "local used = {}",
    "local function use(name)",
    "  local twin = used[name]",
    "  if twin then return twin end",
    ...Array.from(twins.values(), (twin) => `  if name == "${twin.name}" then twin = ${twin.asTable} end`),
    "  used[name] = twin",
    "  return twin",
    "end",
    linked("requests"),
  ].join("\n"),
);

/** Decides about single slots. */
export const SLOT: Script = script(shaken(withConstants(linked("slot"))));

/** Maintains the journal of reservations. */
export const JOURNAL: Script = script(linked("journal"));
