import { readFile } from "node:fs/promises";
import type { AuditTable, Database } from "../database/database.ts";
import { Catalogue } from "../rules/catalogue.ts";
import { inTurns } from "../rules/cooperative-work.ts";
import { parseAside } from "../rules/parse-in-worker.ts";
import type { RuleInput } from "../rules/rule.ts";
import { type RulesFileWatch, watchRulesFile } from "../rules/watch-rules-file.ts";
import { type FileReading, fileChange, readingOf } from "./file-rules.ts";
import type { Log } from "./log.ts";
import { OverlapWarnings } from "./overlap-warnings.ts";

/** Delay before rereading rules that could not be read. A change should take effect within a second. */
const RETRY_MS = 250;

/** The rules in force. They are replaced as a whole or not at all. */
export interface RulesInForce {
  readonly catalogue: Catalogue;
  /** Whether the rules may be outdated. */
  readonly isStale: boolean;
  /** Resolves when all changes made before the call are in force, or cannot be read. */
  refresh(): Promise<void>;
  /** Rereads the rules on request of the operator. */
  reload(): Promise<void>;
  close(): void;
}

/** Rules from the database. */
export class DatabaseRules implements RulesInForce {
  catalogue: Catalogue;
  isStale = false;
  private readonly table: Pick<Database["rules"], "all">;
  private readonly log: Log;
  private readonly overlaps: OverlapWarnings;
  private readonly stop: () => void;
  private retry: NodeJS.Timeout | undefined;
  private reading: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;
  private closed = false;

  private constructor(database: Pick<Database, "rules" | "onChange">, catalogue: Catalogue, log: Log) {
    this.table = database.rules;
    this.catalogue = catalogue;
    this.log = log;
    this.overlaps = new OverlapWarnings(log);
    this.stop = database.onChange(({ kind }) => {
      if (kind === "rules" || kind === "all") void this.refresh();
    });
  }

  static async open(database: Pick<Database, "rules" | "onChange">, log: Log): Promise<DatabaseRules> {
    const rules = new DatabaseRules(database, await Catalogue.make(await database.rules.all()), log);
    // Picks up changes made between reading and subscribing.
    await rules.refresh();
    return rules;
  }

  refresh(): Promise<void> {
    // A read in progress may have started too early; one that has not started serves all callers since.
    this.next ??= this.reading.then(async () => {
      // The change feed asks first, then the caller that made the change, in the same turn: one read serves both.
      await new Promise(setImmediate);
      this.next = undefined;
      this.reading = this.read();
      return this.reading;
    });
    return this.next;
  }

  reload(): Promise<void> {
    return this.refresh();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
    this.stop();
  }

  private async read(): Promise<void> {
    if (this.closed) return;
    clearTimeout(this.retry);
    try {
      this.catalogue = await Catalogue.make(await this.table.all());
      if (this.isStale) this.log.info({ rules: this.catalogue.rules.length }, "the rules are readable again");
      this.isStale = false;
      // The rules are already in force, so callers do not wait for this.
      void this.overlaps.tell(this.catalogue);
    } catch (error) {
      if (this.closed) return;
      if (!this.isStale) this.log.error({ err: error }, "cannot read the rules: the previous ones stay in force");
      this.isStale = true;
      this.retry = setTimeout(() => void this.refresh(), RETRY_MS).unref();
    }
  }
}

/** Rules from a file. */
export class FileRules implements RulesInForce {
  catalogue: Catalogue;
  isStale = false;
  private readonly file: string;
  private readonly log: Log;
  private readonly audit: Pick<AuditTable, "append">;
  private readonly overlaps: OverlapWarnings;
  private readonly watch: RulesFileWatch;
  private closed = false;

  private constructor(file: string, text: string, catalogue: Catalogue, log: Log, audit: Pick<AuditTable, "append">) {
    this.file = file;
    this.catalogue = catalogue;
    this.log = log;
    this.audit = audit;
    this.overlaps = new OverlapWarnings(log);
    this.watch = watchRulesFile(
      file,
      (inputs) => this.use(inputs),
      (error) => {
        this.isStale = true;
        log.error({ file, err: error }, "cannot use the rules file: the previous rules stay in force");
      },
      text,
    );
  }

  static async open(file: string, log: Log, audit: Pick<AuditTable, "append">): Promise<FileRules> {
    const text = await readFile(file, "utf8");
    const reading = await inTurns(readingOf(await parseAside(text, file), [], new Date()));
    const rules = new FileRules(file, text, await Catalogue.make(reading.rules), log, audit);
    await rules.remember(reading);
    return rules;
  }

  /** The file is watched all the time. */
  async refresh(): Promise<void> {}

  reload(): Promise<void> {
    return this.watch.reread();
  }

  close(): void {
    this.closed = true;
    this.watch.stop();
  }

  private async use(inputs: readonly RuleInput[]): Promise<void> {
    const reading = await inTurns(readingOf(inputs, this.catalogue.rules, new Date()));
    const catalogue = await Catalogue.make(reading.rules);
    if (this.closed) return;
    this.catalogue = catalogue;
    this.isStale = false;
    if (reading.gone.length + reading.come.length > 0) await this.remember(reading);
    this.log.info({ file: this.file, rules: inputs.length }, "loaded the rules from the file");
  }

  private async remember(reading: FileReading): Promise<void> {
    this.audit.append(fileChange(this.file, reading, new Date())).catch((error: unknown) => {
      this.log.warn({ err: error }, "cannot write the change of the rules file to the audit log");
    });
    await this.overlaps.tell(this.catalogue);
  }
}
