import type { Kysely } from "kysely";
import type { Change } from "./database.ts";
import type { Engine } from "./sql-dialect.ts";
import type { ChangeRow, Tables } from "./tables.ts";

/** More changes than this are delivered as one `all`. */
const MOST = 1_000;

/**
 * Notifies this process of changes by itself and other nodes, from the numbered changes that every transaction records:
 * in order, and each once.
 */
export class ChangeFeed {
  private readonly engine: Engine;
  private readonly listeners = new Set<(change: Change) => void>();
  private readonly timer: NodeJS.Timeout;
  /** The last change delivered; undefined if changes may have been missed. */
  private revision: number | undefined;
  private reading: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;

  private constructor(engine: Engine, revision: number) {
    this.engine = engine;
    this.revision = revision;
    this.timer = setInterval(() => void this.catchUp(), engine.pollMs);
    this.timer.unref();
    engine.listen({
      wake: () => void this.catchUp(),
      lost: () => {
        this.revision = undefined;
        void this.catchUp();
      },
    });
  }

  static async open(engine: Engine): Promise<ChangeFeed> {
    return new ChangeFeed(engine, await engine.ask(() => newestRevision(engine.db)));
  }

  onChange(listener: (change: Change) => void): () => void {
    // Wrapped, so that a function registered twice is called twice and removed separately.
    const own = (change: Change) => listener(change);
    this.listeners.add(own);
    return () => this.listeners.delete(own);
  }

  /**
   * Resolves when all changes committed before the call were delivered. Never fails; unreadable changes are read later.
   */
  catchUp(): Promise<void> {
    // A read in progress may have started too early; one that has not started serves all callers since.
    this.next ??= this.reading.then(() => {
      this.next = undefined;
      this.reading = this.read();
      return this.reading;
    });
    return this.next;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.listeners.clear();
    await this.catchUp();
  }

  private async read(): Promise<void> {
    try {
      for (const change of await this.changes()) this.deliver(change);
    } catch {
      // Users of the database notice on their own that it is down. When it is back, it may be another one (a backup, a
      // replica that lagged), whose revisions say nothing about what was delivered here.
      this.revision = undefined;
    }
  }

  private async changes(): Promise<readonly Change[]> {
    const { db } = this.engine;
    if (this.revision === undefined) {
      this.revision = await newestRevision(db);
      return [{ kind: "all" }];
    }
    const rows = await db
      .selectFrom("headgate_changes")
      .selectAll()
      .where("revision", ">=", this.revision)
      .orderBy("revision")
      .limit(MOST + 1)
      .execute();
    // The last change delivered still exists, unless it was purged or is not from this database.
    if (rows[0]?.revision !== this.revision || rows.length > MOST) {
      this.revision = await newestRevision(db);
      return [{ kind: "all" }];
    }
    this.revision = rows[rows.length - 1].revision;
    return distinct(rows.slice(1).map(changeOf));
  }

  private deliver(change: Change): void {
    for (const listener of this.listeners) {
      try {
        listener(change);
      } catch (error) {
        // One listener must not keep a change from the others.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}

async function newestRevision(db: Kysely<Tables>): Promise<number> {
  const { revision } = await db
    .selectFrom("headgate_changes")
    .select(({ fn }) => fn.max("revision").as("revision"))
    .executeTakeFirstOrThrow();
  return revision;
}

function changeOf({ kind, user_id }: ChangeRow): Change {
  if (kind === "user" && user_id !== null) return { kind, user_id };
  return kind === "rules" || kind === "keys" ? { kind } : { kind: "all" };
}

/** A hundred rules written one by one cause a single reread. */
function distinct(changes: readonly Change[]): readonly Change[] {
  const seen = new Map(changes.map((change) => [JSON.stringify(change), change]));
  return [...seen.values()];
}
