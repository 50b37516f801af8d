import { HeadgateError } from "headgate";
import type { Kysely, Transaction } from "kysely";
import type { AuditEvent } from "../audit/audit.ts";
import { canonicalJson, chained, type Link } from "../audit/chain.ts";
import { ChangeFeed } from "./change-feed.ts";
import type { Actor, Change } from "./database.ts";
import { DatabaseError } from "./database-error.ts";
import type { Engine } from "./sql-dialect.ts";
import { auditable } from "./storable-text.ts";
import type { AuditRow, Tables } from "./tables.ts";

/** Rows per statement. It takes a few milliseconds, during which the thread is blocked. */
const ITEMS_AT_ONCE = 100;

/**
 * Access to the tables. Every change goes through `write`: one transaction with its audit entries and its notification
 * to other nodes. All errors are thrown as DatabaseErrors.
 */
export class AuditedDatabase {
  readonly feed: ChangeFeed;
  private readonly engine: Engine;
  private readonly underway = new Set<Promise<unknown>>();
  /** Writes wait for a long change. */
  private longChange: Promise<unknown> = Promise.resolve();
  private closed = false;

  private constructor(engine: Engine, feed: ChangeFeed) {
    this.engine = engine;
    this.feed = feed;
  }

  static async open(engine: Engine): Promise<AuditedDatabase> {
    return new AuditedDatabase(engine, await ChangeFeed.open(engine));
  }

  read<Result>(question: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    return this.guarded(() => this.readNow(question));
  }

  /** Runs any number of queries on one snapshot. */
  snapshot<Result>(questions: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    return this.guarded(() => this.engine.snapshot(questions));
  }

  /**
   * Runs transactions one after the other across all processes. Resolves when the change is on disk and in force here.
   */
  write<Result>(change: Writing<Result>): Promise<Result> {
    const before = this.longChange;
    return this.guarded(async () => {
      await before;
      return this.writeNow(change);
    });
  }

  /**
   * A change that may take long and may use another connection. It runs after all writes requested before it and before
   * all later ones, so that none of them times out waiting for its lock.
   */
  writeLong<Result>(work: (now: Pick<AuditedDatabase, "read" | "write">) => Promise<Result>): Promise<Result> {
    const before = [...this.underway];
    const running = this.guarded(async () => {
      await Promise.allSettled(before);
      // Another connection would recreate a file that was removed.
      await this.engine.ping();
      const result = await work({
        read: (question) => this.readNow(question),
        write: (change) => this.writeNow(change),
      });
      await this.feed.catchUp();
      return result;
    });
    this.longChange = running.catch(() => {});
    return running;
  }

  /** A transaction that does not block others and is not recorded in the audit log. */
  tally<Result>(work: (db: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    const before = this.longChange;
    return this.guarded(async () => {
      await before;
      return this.engine.transaction(work, { alone: false });
    });
  }

  ping(): Promise<void> {
    return this.guarded(() => this.engine.ping());
  }

  /** Waits for what is in progress. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await Promise.allSettled(this.underway);
    await this.feed.close();
    await this.engine.close();
  }

  private async guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.closed) throw new DatabaseError("HG_DATABASE_CLOSED", "closed by this process");
    const running = work();
    this.underway.add(running);
    try {
      return await running;
    } catch (error) {
      throw error instanceof HeadgateError ? error : this.engine.errorOf(error);
    } finally {
      this.underway.delete(running);
    }
  }

  private readNow<Result>(question: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    return this.engine.ask(() => question(this.engine.db));
  }

  private async writeNow<Result>(change: Writing<Result>): Promise<Result> {
    let announced = false;
    const result = await this.engine.transaction(
      async (db) => {
        const entry = new Entry();
        const done = await change(db, entry);
        await this.enter(db, entry);
        announced = entry.changes.length > 0;
        return done;
      },
      { alone: true },
    );
    if (announced) await this.feed.catchUp();
    return result;
  }

  private async enter(db: Transaction<Tables>, { at, events, changes }: Entry): Promise<void> {
    if (events.length > 0) await appendToChain(db, events);
    if (changes.length === 0) return;
    const { revision } = await db
      .selectFrom("headgate_changes")
      .select(({ fn }) => fn.max("revision").as("revision"))
      .executeTakeFirstOrThrow();
    await inParts(
      changes.map((change, index) => ({
        revision: revision + 1 + index,
        at,
        kind: change.kind,
        user_id: change.kind === "user" ? change.user_id : null,
      })),
      (rows) => db.insertInto("headgate_changes").values(rows).execute(),
    );
    await this.engine.announce(db);
  }
}

type Writing<Result> = (db: Transaction<Tables>, entry: Entry) => Promise<Result>;

/** What a transaction adds besides its rows. */
export class Entry {
  /** The time of the whole transaction. */
  readonly at = Date.now();
  readonly events: AuditEvent[] = [];
  private readonly announced = new Map<string, Change>();

  record(actor: Actor, action: string, subject: string, before: unknown, after: unknown): void {
    const at = new Date(this.at).toISOString();
    this.events.push({ at, actor_id: actor.id, actor_name: actor.name, action, subject, before, after });
  }

  /** Announces a change once, however many rows it affects. */
  announce(change: Change): void {
    this.announced.set(JSON.stringify(change), change);
  }

  get changes(): readonly Change[] {
    return [...this.announced.values()];
  }
}

/** Appends events to the chain. */
export async function appendToChain(db: Kysely<Tables>, events: readonly AuditEvent[]): Promise<void> {
  const chain = await db.selectFrom("headgate_audit_chain").selectAll().executeTakeFirstOrThrow();
  let head: Link = { seq: chain.head_seq, hash: chain.head_hash };
  await inParts(events, async (some) => {
    const rows = some.map((event): AuditRow => {
      const entry = chained(asKept(event), head);
      head = entry;
      const { at, before, after, ...rest } = entry;
      return { ...rest, at: Date.parse(at), before: canonicalJson(before), after: canonicalJson(after) };
    });
    await db.insertInto("headgate_audit").values(rows).execute();
  });
  await db.updateTable("headgate_audit_chain").set({ head_seq: head.seq, head_hash: head.hash }).execute();
}

/** The event as it will be read back: the hash must cover what is stored. */
function asKept(event: AuditEvent): AuditEvent {
  return {
    at: new Date(event.at).toISOString(),
    actor_id: auditable(event.actor_id),
    actor_name: auditable(event.actor_name),
    action: auditable(event.action),
    subject: auditable(event.subject),
    before: event.before ?? null,
    after: event.after ?? null,
  };
}

/** Applies a statement to any number of items in portions, letting other work run in between. */
export async function inParts<Item>(items: readonly Item[], work: (some: Item[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    if (from > 0) await new Promise(setImmediate);
    await work(items.slice(from, from + ITEMS_AT_ONCE));
  }
}
