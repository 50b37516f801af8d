import type { AuditEvent } from "../audit/audit.ts";
import type { AuditTable } from "../database/database.ts";

const FLUSH_MS = 1_000;
/** Maximum number of events per write. */
const BATCH = 500;
const MOST_WAITING = 10_000;
/** Otherwise a client with many addresses could fill the disk by being throttled. */
const MOST_A_MINUTE = 1_000;
const MINUTE_MS = 60_000;

/**
 * Writes audit events of checks in the background and in batches: no check waits for the database. While the database
 * is down, events wait. Events beyond the buffer or beyond the limit per minute are counted, and the count is written.
 */
export class AuditTrail {
  private readonly table: Pick<AuditTable, "append">;
  private waiting: AuditEvent[] = [];
  private lost = 0;
  private minute = 0;
  private ofMinute = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private readonly asking = new Set<Promise<void>>();

  constructor(table: Pick<AuditTable, "append">) {
    this.table = table;
  }

  /** Number of events waiting to be written, and of those lost since the last write. */
  get stats(): { readonly waiting: number; readonly lost: number } {
    return { waiting: this.waiting.length, lost: this.lost };
  }

  /** `isOurs`: called later to find out whether this node should write the event. If unknown, it is written. */
  add(event: AuditEvent, isOurs?: () => Promise<boolean>): void {
    const minute = Math.floor(Date.parse(event.at) / MINUTE_MS);
    if (minute !== this.minute) {
      this.minute = minute;
      this.ofMinute = 0;
    }
    if (this.ofMinute >= MOST_A_MINUTE) {
      this.lost += 1;
      return;
    }
    this.ofMinute += 1;
    if (isOurs === undefined) this.keep(event);
    else this.keepIf(event, isOurs());
  }

  private keepIf(event: AuditEvent, isOurs: Promise<boolean>): void {
    const asking: Promise<void> = isOurs
      .catch(() => true)
      .then((isOurs) => {
        this.asking.delete(asking);
        if (isOurs) this.keep(event);
      });
    this.asking.add(asking);
  }

  private keep(event: AuditEvent): void {
    if (this.waiting.length >= MOST_WAITING) {
      this.lost += 1;
      return;
    }
    this.waiting.push(event);
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Writes an event before it returns; if the database is down, the event waits with the others. */
  async addNow(event: AuditEvent): Promise<void> {
    try {
      await this.table.append([event]);
    } catch {
      this.keep(event);
    }
  }

  /** Writes waiting events. Those that cannot be written keep waiting. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
      if (this.waiting.length > 0) this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
    });
    return this.writing;
  }

  /** Writes waiting events and stops the timer. */
  async close(): Promise<void> {
    await Promise.all(this.asking);
    await this.writing;
    await this.flush();
    clearTimeout(this.timer);
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH);
      const { lost } = this;
      try {
        await this.table.append(lost === 0 ? batch : [...batch, lossOf(lost, batch[batch.length - 1].at)]);
      } catch {
        return;
      }
      this.waiting.splice(0, batch.length);
      this.lost -= lost;
    }
  }
}

function lossOf(lost: number, at: string): AuditEvent {
  const after = { lost, reason: "too many in a minute, or too many while the database was unreachable" };
  return {
    at,
    actor_id: "system",
    actor_name: "headgate",
    action: "audit.lost",
    subject: "audit",
    before: null,
    after,
  };
}
