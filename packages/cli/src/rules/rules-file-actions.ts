import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { importRules, rulesText } from "headgate-server";
import { type ExitCode, exitCodes, InvalidInput, reported } from "../failure.ts";
import { changes, changesText, summary } from "./changes.ts";
import { readRules, readText } from "./read-rules.ts";
import { Service, type ServiceOptions } from "./service-client.ts";

export interface DiffOptions extends ServiceOptions {
  readonly against?: string;
  readonly failOnDifference?: true;
}

export interface ExportOptions extends ServiceOptions {
  readonly output?: string;
}

export interface ImportOptions {
  readonly from?: string;
  readonly output?: string;
}

/** `headgate rules validate`. */
export async function validate(file: string | undefined): Promise<ExitCode> {
  const { name, rules, warnings } = await readRules(file);
  for (const { message } of warnings) process.stdout.write(`warning: ${message}\n`);
  process.stdout.write(`${name}: ${counted(rules.length, "rule")}, ${counted(warnings.length, "warning")}\n`);
  return exitCodes.done;
}

/** `headgate rules diff`: compares a file with the rules of a service or another file. */
export async function diff(file: string | undefined, options: DiffOptions): Promise<ExitCode> {
  const { against, failOnDifference, ...service } = options;
  if (against !== undefined && (service.url !== undefined || service.key !== undefined)) {
    throw new InvalidInput("--against: compares with a file; leave out --url and --key");
  }
  const { rules } = await readRules(file);
  const before = against === undefined ? await new Service(service).rules() : (await readRules(against)).rules;
  const found = changes(before, rules);
  process.stdout.write(changesText(found) + summary(found));
  return failOnDifference && changesText(found) !== "" ? exitCodes.differs : exitCodes.done;
}

/** `headgate rules apply`. */
export async function apply(file: string | undefined, options: ServiceOptions): Promise<ExitCode> {
  const { rules, warnings } = await readRules(file);
  const replaced = await new Service(options).replaceRules(rules);
  for (const { message } of warnings) process.stderr.write(reported(new Error(`warning: ${message}`)).line);
  process.stdout.write(summary(replaced));
  return exitCodes.done;
}

/** `headgate rules import`: converts the configuration of another limiter. Notes go to standard error. */
export async function importFile(file: string | undefined, { from, output }: ImportOptions): Promise<ExitCode> {
  if (from !== "envoy" && from !== "limitador" && from !== "nginx") {
    throw new InvalidInput("--from: must be envoy, limitador or nginx");
  }
  const { name, text } = await readText(file, `headgate rules import --from ${from} limits.yaml`);
  const { rules, notes } = await importRules(from, text, name).catch((error: unknown) => {
    throw new InvalidInput(error instanceof Error ? error.message : String(error), { cause: error });
  });
  for (const note of notes) process.stderr.write(reported(new Error(note)).line);
  const converted = await rulesText(rules);
  if (output === undefined) process.stdout.write(converted);
  else {
    await writeWhole(output, converted);
    process.stdout.write(`${output}: ${counted(rules.length, "rule")}, ${counted(notes.length, "note")}\n`);
  }
  return exitCodes.done;
}

/** `headgate rules export`. */
export async function exportRules({ output, ...service }: ExportOptions): Promise<ExitCode> {
  const text = await rulesText(await new Service(service).rules());
  if (output === undefined) process.stdout.write(text);
  else await writeWhole(output, text);
  return exitCodes.done;
}

/** Writes a file atomically, so that a service that watches it never sees half of it. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new InvalidInput(`${path}: cannot be written${code}`, { cause: error });
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
