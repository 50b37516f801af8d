import { type Limit, limitFromSpec } from "headgate";
import { InvalidInput } from "../failure.ts";

/** The limits of a scenario. */
export interface Config {
  /** Applies to users without a limit of their own. */
  readonly default: Limit;
  readonly users: ReadonlyMap<string, Limit>;
}

const DEFAULT_LIMIT = { capacity: 5, refill_rate: 1 };

const FIELDS = ["default", "users"];

/** Reads the `config` of a scenario. Both parts are optional. */
export function readConfig(value: unknown): Config {
  const fields = membersOf(value, "config");
  for (const name of fields.keys()) {
    if (!FIELDS.includes(name)) {
      throw new InvalidInput(`${pathTo("config", name)}: is not a field of config (known: ${FIELDS.join(", ")})`);
    }
  }
  const users = membersOf(fields.has("users") ? fields.get("users") : {}, "config.users");
  return {
    default: limitFromSpec(fields.has("default") ? fields.get("default") : DEFAULT_LIMIT, "config.default"),
    users: new Map([...users].map(([name, spec]) => [name, limitFromSpec(spec, pathTo("config.users", name))])),
  };
}

function membersOf(value: unknown, path: string): Map<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  throw new InvalidInput(`${path}: must be an object`);
}

/** Quotes names that could be mistaken for a path. */
function pathTo(parent: string, name: string): string {
  return /^[\p{L}\p{N}_-]+$/u.test(name) ? `${parent}.${name}` : `${parent}[${JSON.stringify(name)}]`;
}
