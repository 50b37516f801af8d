import { parseUserInput, type UserInput } from "headgate-server";
import { type ExitCode, exitCodes, InvalidInput, reported } from "../failure.ts";
import { openSource } from "../input/source.ts";
import { type Imported, RejectedFields, Service, type ServiceOptions } from "../rules/service-client.ts";
import { type Format, userLines } from "./user-lines.ts";

export interface ImportOptions extends ServiceOptions {
  readonly format?: string;
}

export interface UserExportOptions extends ServiceOptions {
  readonly tier?: string;
}

/** Limits on one request to the service, with a margin in bytes. */
const USERS_AT_ONCE = 500;
const BYTES_AT_ONCE = 200 * 1024;
const MOST_PROBLEMS = 100;

/** `headgate users import`: validates the whole file before it sends any of it. */
export async function importUsers(file: string | undefined, options: ImportOptions): Promise<ExitCode> {
  if (file === undefined) throw new InvalidInput("file: is required, as in headgate users import users.csv");
  const { format, ...service } = options;
  const kind = formatOf(file, format);
  const to = new Service(service);
  const source = await openSource(file, "file");
  try {
    await requireValid(source.look(), source.name, kind);
    const sender = new Sender(to, source.name);
    for await (const { line, value } of userLines(source.read(), source.name, kind)) {
      const parsed = await parseUserInput(value);
      if (!("user" in parsed))
        throw new InvalidInput(`${source.name}:${line}: the file changed while it was being read`);
      await sender.add(line, parsed.user);
    }
    process.stdout.write(summary(await sender.end()));
  } finally {
    await source.close();
  }
  return exitCodes.done;
}

/** `headgate users export`: prints one line of JSON per user, in the format that import reads. */
export async function exportUsers({ tier, ...options }: UserExportOptions): Promise<ExitCode> {
  for await (const users of new Service(options).users(tier)) {
    const lines = users.map(({ user_id, tier, custom_limits }) => JSON.stringify({ user_id, tier, custom_limits }));
    process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  }
  return exitCodes.done;
}

function formatOf(file: string, format: string | undefined): Format {
  if (format === "csv" || format === "jsonl") return format;
  if (format !== undefined) throw new InvalidInput(`--format: must be csv or jsonl, got ${JSON.stringify(format)}`);
  if (file.endsWith(".csv")) return "csv";
  if (/\.(jsonl|ndjson)$/.test(file)) return "jsonl";
  throw new InvalidInput("--format: is required, csv or jsonl, unless the file's name ends in .csv, .jsonl or .ndjson");
}

/** Prints one line per problem, as far as the file can be read; the last one is the error that is thrown. */
async function requireValid(pieces: AsyncIterable<Buffer>, name: string, format: Format): Promise<void> {
  let last: InvalidInput | undefined;
  let count = 0;
  let users = 0;
  for await (const { line, value } of userLines(pieces, name, format)) {
    users += 1;
    const parsed = await parseUserInput(value);
    if ("user" in parsed) continue;
    for (const { field, problem } of parsed.problems) {
      count += 1;
      if (last !== undefined) process.stderr.write(reported(last).line);
      last = new InvalidInput(`${name}:${line}: ${field === "" ? "" : `${field}: `}${problem}`);
    }
    if (count >= MOST_PROBLEMS) break;
  }
  if (last !== undefined) throw last;
  if (users === 0) throw new InvalidInput(`${name}: has no users`);
}

/** Sends users in batches that the service accepts, and adds up the results. */
class Sender {
  private readonly service: Service;
  private readonly name: string;
  private readonly warned = new Set<string>();
  private waiting: { readonly line: number; readonly user: UserInput }[] = [];
  private bytes = 0;
  private readonly sum = { created: 0, updated: 0, unchanged: 0 };

  constructor(service: Service, name: string) {
    this.service = service;
    this.name = name;
  }

  async add(line: number, user: UserInput): Promise<void> {
    const bytes = Buffer.byteLength(JSON.stringify(user)) + 1;
    if (this.waiting.length >= USERS_AT_ONCE || this.bytes + bytes > BYTES_AT_ONCE) await this.send();
    this.waiting.push({ line, user });
    this.bytes += bytes;
  }

  async end(): Promise<Imported> {
    await this.send();
    return this.sum;
  }

  private async send(): Promise<void> {
    const sent = this.waiting;
    if (sent.length === 0) return;
    this.waiting = [];
    this.bytes = 0;
    try {
      const answer = await this.service.importUsers(sent.map(({ user }) => user));
      for (const kind of ["created", "updated", "unchanged"] as const) this.sum[kind] += answer[kind];
      for (const { field, problem } of answer.warnings ?? []) this.warn(placeOf(field, sent), problem);
    } catch (error) {
      throw this.failure(error, sent);
    }
  }

  /** Prints each warning once, however many requests are sent. */
  private warn(place: string, problem: string): void {
    const text = problem.replace(/ \(\d+ of these users\)$/, "");
    if (this.warned.has(text)) return;
    if (this.warned.size < MOST_PROBLEMS) this.warned.add(text);
    process.stderr.write(reported(new Error(`warning: ${this.name}:${place}: ${text}`)).line);
  }

  private failure(error: unknown, sent: readonly { readonly line: number }[]): unknown {
    if (!(error instanceof InvalidInput)) return error;
    const { created, updated, unchanged } = this.sum;
    const done = created + updated + unchanged;
    const places = error instanceof RejectedFields ? error.fields : [];
    for (const { field, problem } of places.slice(1)) {
      process.stderr.write(reported(new Error(`${this.name}:${placeOf(field, sent)}: ${problem}`)).line);
    }
    const [first] = places;
    const what = first === undefined ? error.message : `${this.name}:${placeOf(first.field, sent)}: ${first.problem}`;
    const rest = `${done} users were imported before this; importing the file again leaves those unchanged`;
    return new InvalidInput(`${what} (${rest})`, { cause: error });
  }
}

/** `users[17].tier` refers to the tier on the line of the 18th user that was sent. */
function placeOf(field: string, sent: readonly { readonly line: number }[]): string {
  const [, index, rest] = /^users\[(\d+)\](?:\.(.*))?$/s.exec(field) ?? [];
  const line = index === undefined ? undefined : sent[Number(index)]?.line;
  if (line === undefined) return field;
  return rest === undefined ? String(line) : `${line}: ${rest}`;
}

function summary({ created, updated, unchanged }: Imported): string {
  return `${created} created, ${updated} updated, ${unchanged} unchanged\n`;
}
