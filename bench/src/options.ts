import { parseArgs } from "node:util";

export interface Options {
  /** One, or with `--write` any number: none means all. */
  readonly suites: readonly string[];
  readonly quick: boolean;
  readonly json: boolean;
  readonly write: boolean;
  readonly help: boolean;
  readonly workloads: readonly string[] | undefined;
  readonly subjects: readonly string[] | undefined;
  readonly rounds: number | undefined;
  readonly seconds: number | undefined;
  /** Versions of Node for the page. */
  readonly nodes: readonly string[];
}

/** The versions of Node that are maintained. */
const NODES = ["24", "26"];

export class UsageError extends Error {}

export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const { quick, json, write, help, node, ...selection } = values;
  if (positionals.length > 1 && !write) throw new UsageError(`one suite at a time, got ${positionals.join(", ")}`);
  // The page must contain every workload and subject of a suite.
  if (write && (json || Object.keys(selection).length > 0)) {
    throw new UsageError("--write takes nothing else but suites, --quick and --node");
  }
  return {
    suites: positionals,
    quick,
    json,
    write,
    help,
    workloads: selection.workload,
    subjects: selection.subject,
    rounds: number(selection.rounds, "--rounds", (rounds) => Number.isInteger(rounds) && rounds >= 1),
    nodes: node ?? NODES,
    seconds: number(selection.seconds, "--seconds", (seconds) => seconds > 0),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        workload: { type: "string", multiple: true },
        subject: { type: "string", multiple: true },
        rounds: { type: "string" },
        seconds: { type: "string" },
        node: { type: "string", multiple: true },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function number(text: string | undefined, flag: string, holds: (value: number) => boolean): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!holds(value)) throw new UsageError(`${flag} must be a number over 0, got ${text}`);
  return value;
}
