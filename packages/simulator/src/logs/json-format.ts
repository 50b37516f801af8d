import { requestFrom } from "./field-values.ts";
import type { FieldMapping, LineParser, LineRequest, LineResult, LogFormat } from "./log-format.ts";
import { SKIPPED } from "./log-format.ts";

/** For each field, the names under which it may be found, in order of preference. */
export type FieldNames = Readonly<Record<"time" | "key" | "path" | "method", readonly string[]>>;

/**
 * A format with one JSON object per line. Dots lead into nested objects and lists: `request.headers.X-User.0`.
 * `hasPath`: whether a line without a path is not of this format.
 */
export function jsonFormat(name: string, names: FieldNames, hasPath = false): LogFormat {
  return { name, open: (mapping) => new JsonParser(names, mapping, hasPath) };
}

class JsonParser implements LineParser {
  readonly #time: Lookup;
  readonly #key: Lookup;
  readonly #path: Lookup;
  readonly #method: Lookup;
  readonly #cost: Lookup | undefined;
  readonly #needsPath: boolean;

  constructor(names: FieldNames, { time, key, path, method, cost }: FieldMapping, hasPath: boolean) {
    this.#needsPath = hasPath || path !== undefined;
    this.#time = new Lookup(time, names.time);
    this.#key = new Lookup(key, names.key);
    this.#path = new Lookup(path, names.path);
    this.#method = new Lookup(method, names.method);
    this.#cost = cost === undefined ? undefined : new Lookup(cost, []);
  }

  read(text: string, start: number, end: number, into: LineRequest): LineResult {
    const line = text.slice(start, end);
    if (line.trim() === "") return SKIPPED;
    let object: unknown;
    try {
      object = JSON.parse(line);
    } catch {
      return "is not valid JSON";
    }
    if (typeof object !== "object" || object === null || Array.isArray(object)) return "is not a JSON object";
    const path = this.#path.in(object);
    if (path === undefined && this.#needsPath) return "path: is missing";
    return requestFrom(
      {
        time: this.#time.in(object),
        key: this.#key.in(object),
        path,
        method: this.#method.in(object),
        // A line without the field is not free.
        cost: this.#cost === undefined ? undefined : (this.#cost.in(object) ?? null),
      },
      into,
    );
  }
}

/** Finds a field under one of its names. */
class Lookup {
  readonly #names: readonly { readonly name: string; readonly steps: readonly string[] }[];

  /** `stated`: the only name, if the user gave it. */
  constructor(stated: string | undefined, names: readonly string[]) {
    this.#names = (stated === undefined ? names : [stated]).map((name) => ({ name, steps: name.split(".") }));
  }

  in(object: object): unknown {
    for (const { name, steps } of this.#names) {
      // A name with dots may also be the name of a single field.
      const value = memberOf(object, name) ?? steps.reduce<unknown>(memberOf, object);
      if (value !== undefined && value !== null && value !== "") return value;
    }
    return undefined;
  }
}

function memberOf(object: unknown, name: string): unknown {
  if (typeof object !== "object" || object === null || !Object.hasOwn(object, name)) return undefined;
  return (object as Readonly<Record<string, unknown>>)[name];
}
