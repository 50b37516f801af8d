import { readFileSync } from "node:fs";
import { HeadgateError } from "headgate";
import { configuredStores } from "../checks/shared-stores.ts";
import { allSettings, type Field, fields, flagOf, type SettingShape, variableOf } from "./fields.ts";
import type { Settings, TlsFiles } from "./settings.ts";
import { suggestion } from "./suggestion.ts";

/** Where settings come from. Flags take precedence over the environment, which takes precedence over the file. */
export interface SettingSources {
  /** By flag, without the dashes; `config` names the file. */
  readonly flags: Readonly<Record<string, string | true | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ReadSettings {
  readonly settings: Settings;
  /** Every setting without secrets, and where it was found. */
  readonly shown: readonly ShownSetting[];
}

export interface ShownSetting {
  readonly name: string;
  readonly value: string | undefined;
  /** `--http`, `HEADGATE_HTTP`, the name of the file, or `default`. */
  readonly from: string;
}

const CONFIG = "config";
const CONFIG_VARIABLE = "HEADGATE_CONFIG";

/** Throws a HeadgateError that names the flag, the variable or the line of the file. */
export async function readSettings(sources: SettingSources): Promise<ReadSettings> {
  const reading = await Reading.open(sources);
  const { tlsCert, tlsKey, tlsClientCa, ...values } = reading.takeAll(fields);
  const settings: Settings = { ...values, tls: tlsFrom(tlsCert, tlsKey, tlsClientCa) };
  const [store, other] = configuredStores(settings);
  if (other !== undefined) {
    const problem = `is mutually exclusive with ${flagOf(fields[store.name])}: give only one of them`;
    throw new HeadgateError("HG_BAD_OPTION", flagOf(fields[other.name]), problem);
  }
  if (settings.envoyConfig !== undefined && settings.envoy === undefined && settings.envoyHttp === undefined) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "--envoy-config",
      "has no effect without --envoy or --envoy-http: add one",
    );
  }
  return { settings, shown: reading.shown };
}

type File = string | undefined;

function tlsFrom(cert: File, key: File, clientCa: File): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  const alone = [fields.tlsCert, fields.tlsKey, fields.tlsClientCa].find((_, index) => [cert, key, clientCa][index]);
  if (alone === undefined) return undefined;
  throw new HeadgateError("HG_BAD_OPTION", flagOf(alone), "needs both --tls-cert and --tls-key");
}

interface Found {
  readonly text: string;
  readonly at: string;
  readonly from: string;
}

class Reading {
  readonly shown: ShownSetting[] = [];
  private readonly flags: SettingSources["flags"];
  private readonly env: SettingSources["env"];
  private readonly file: ReadonlyMap<string, Found>;

  private constructor({ flags, env }: SettingSources, file: ReadonlyMap<string, Found>) {
    this.flags = flags;
    this.env = env;
    this.file = file;
  }

  static async open(sources: SettingSources): Promise<Reading> {
    const { flags, env } = sources;
    rejectUnknownVariables(env);
    const name = flags[CONFIG] ?? (env[CONFIG_VARIABLE] || undefined);
    return new Reading(sources, typeof name === "string" ? await readFile(name) : new Map());
  }

  takeAll<Values extends object>(all: { readonly [Name in keyof Values]: Field<Values[Name]> }): Values {
    const values: Partial<Values> = {};
    for (const name in all) values[name] = this.take(all[name]);
    return values as Values;
  }

  private take<T>(field: Field<T>): T {
    const found = this.find(field);
    const value = found === undefined ? field.initial : field.parse(found.text, found.at);
    const isSet = value !== undefined || found !== undefined;
    this.shown.push({
      name: field.name,
      value: isSet ? field.show(value) : undefined,
      from: found?.from ?? "default",
    });
    return value;
  }

  private find(field: SettingShape): Found | undefined {
    const flag = flagOf(field);
    const given = this.flags[flag.slice(2)];
    if (given !== undefined) return required({ text: String(given), at: flag, from: flag });
    const variable = variableOf(field);
    const text = this.env[variable];
    // Compose files and shells write an unset variable as an empty one.
    if (text !== undefined && text !== "") return { text, at: variable, from: variable };
    return this.file.get(field.name);
  }
}

function required(found: Found): Found {
  if (found.text === "") throw new HeadgateError("HG_BAD_OPTION", found.at, "must not be empty");
  return found;
}

/** Kubernetes sets these variables for a service named headgate. */
const KUBERNETES = /^HEADGATE_(SERVICE_(HOST|PORT)(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?)$/;
/** Variables of other commands and of the project's tests. */
const OF_OTHERS = ["HEADGATE_KEY", "HEADGATE_RUNS"];

function rejectUnknownVariables(env: SettingSources["env"]): void {
  const known = new Set([CONFIG_VARIABLE, ...allSettings.map(variableOf)]);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("HEADGATE_") || known.has(name) || KUBERNETES.test(name) || OF_OTHERS.includes(name)) continue;
    throw new HeadgateError("HG_BAD_OPTION", name, `is not a setting of Headgate${suggestion(name, known)}`);
  }
}

async function readFile(file: string): Promise<Map<string, Found>> {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(readText(file), { lineCounter: lines });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const { line, col } = lines.linePos(mistake.pos[0]);
    const [problem] = mistake.message.split(/ at line \d/);
    throw new HeadgateError("HG_BAD_OPTION", file, `line ${line}, column ${col}: ${problem}`);
  }
  const content: unknown = document.toJS() ?? {};
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new HeadgateError("HG_BAD_OPTION", file, "must be a YAML mapping of settings, such as http: 127.0.0.1:8080");
  }
  const known = new Set(allSettings.map(({ name }) => name));
  const found = new Map<string, Found>();
  for (const [name, value] of Object.entries(content)) {
    const at = `${file}: ${name}`;
    if (!known.has(name)) {
      throw new HeadgateError("HG_BAD_OPTION", at, `is not a setting of Headgate${suggestion(name, known)}`);
    }
    // A name without a value counts as not set.
    if (value === null) continue;
    found.set(name, required({ text: textOf(value, at), at, from: file }));
  }
  return found;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    const problem = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
    throw new HeadgateError("HG_BAD_OPTION", file, problem, { cause: error });
  }
}

/** A YAML value as text, since each setting has its own parser. */
function textOf(value: unknown, at: string): string {
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new HeadgateError("HG_BAD_OPTION", at, "must be a single value");
}
