import { parseArgs } from "node:util";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Passed to `headgate serve --workers`; undefined for one process. */
  readonly workers: number | undefined;
  /** Checks per second on all transports together. */
  readonly rate: number;
  /** Only these transports, if given. */
  readonly transports: readonly string[] | undefined;
}

export const USAGE = [
  "npm run -s soak -- [--minutes 30] [--seed N] [--workers N] [--rate 200] [--transport NAME]…",
  "",
  "Runs a node with Redis under load on every transport and injects faults at random. Prints memory, event-loop delay,",
  "errors and the invariants it checks, and exits with 1 if one of them is broken. The same seed injects the same faults.",
].join("\n");

export function readSoakOptions(args: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "30" },
      seed: { type: "string" },
      workers: { type: "string" },
      rate: { type: "string", default: "200" },
      transport: { type: "string", multiple: true },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  return {
    minutes: positive("--minutes", values.minutes),
    seed: values.seed === undefined ? 1 + Math.floor(Math.random() * 2 ** 31) : positive("--seed", values.seed),
    workers: values.workers === undefined ? undefined : positive("--workers", values.workers),
    rate: positive("--rate", values.rate),
    transports: values.transport,
  };
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${flag} must be a number over 0, got ${text}`);
  return value;
}
