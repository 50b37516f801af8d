import type { JournalEntry, ReservationJournal } from "../../reservations/journal.ts";

/** Runs the script of the journal. */
export type RunHolds = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** The journal of reservations in Redis. In a cluster it is in one slot, whose tag no identity has. */
export class RedisJournal implements ReservationJournal {
  private readonly keys: readonly string[];
  private readonly run: RunHolds;
  private readonly now: () => number | "";
  private readonly closed: () => boolean;

  /** `now` returns the time to use, or "" for the server's clock. */
  constructor(prefix: string, run: RunHolds, now: () => number | "", closed: () => boolean) {
    this.keys = [`${prefix}:{%holds}:ends`, `${prefix}:{%holds}:texts`];
    this.run = run;
    this.now = now;
    this.closed = closed;
  }

  get isClosed(): boolean {
    return this.closed();
  }

  async add({ id, text }: JournalEntry, forMs: number): Promise<void> {
    await this.call("add", forMs, id, text);
  }

  extend(ids: readonly string[], forMs: number): Promise<readonly string[]> {
    return this.call("extend", forMs, ...ids);
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.call("remove", ...ids);
  }

  async overdue(most: number): Promise<readonly JournalEntry[]> {
    const found = await this.call("overdue", most);
    return found.flatMap((id, i) => (i % 2 === 0 ? [{ id, text: found[i + 1] }] : []));
  }

  private async call(action: string, ...args: readonly (string | number)[]): Promise<readonly string[]> {
    const reply = await this.run(this.keys, [action, ...[this.now(), ...args].map(String)]);
    return Array.isArray(reply) ? reply.map(String) : [];
  }
}
