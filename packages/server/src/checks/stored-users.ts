import type { Change, UserTable } from "../database/database.ts";

/** With more of them than this, each is asked for when he comes. */
const MOST_USERS = 100_000;
/** How long the database is left alone after it did not answer. */
const RETRY_MS = 1_000;

export interface StoredUsersOptions {
  /** How many are remembered (default 100,000). */
  readonly maxUsers?: number;
  readonly retryMs?: number;
}

/**
 * Of whom anything is stored at all. Most users have no tier and nothing of their own: of them the database need not
 * be asked, however many there are.
 */
export class StoredUsers {
  private readonly users: Pick<UserTable, "ids">;
  private readonly maxUsers: number;
  private readonly retryMs: number;
  /** undefined: not known, or too many. */
  private ids: Set<string> | undefined;
  /** Who was changed since the reading began that is under way, if one is. */
  private meanwhile: Set<string> | undefined;
  private readAgainAt = 0;

  constructor(users: Pick<UserTable, "ids">, options: StoredUsersOptions = {}) {
    const { maxUsers = MOST_USERS, retryMs = RETRY_MS } = options;
    this.users = users;
    this.maxUsers = maxUsers;
    this.retryMs = retryMs;
  }

  /** Whether it is certain that nothing is stored of a user. */
  lack(userId: string): boolean {
    if (this.ids !== undefined) return !this.ids.has(userId);
    if (this.meanwhile === undefined && performance.now() >= this.readAgainAt) void this.read();
    return false;
  }

  /** To be told of every change that the database tells of. */
  changed(change: Change): void {
    if (change.kind === "user") {
      this.meanwhile?.add(change.user_id);
      this.ids?.add(change.user_id);
      if (this.ids !== undefined && this.ids.size > this.maxUsers) this.giveUp();
    } else if (change.kind === "all") {
      this.ids = undefined;
      void this.read();
    }
  }

  /** Reads which users have data. Never fails: while the database is down, any user may have some. */
  async read(): Promise<void> {
    const meanwhile = new Set<string>();
    this.meanwhile = meanwhile;
    const ids = await this.users.ids(this.maxUsers).catch(() => "unknown" as const);
    // Another reading has begun since, and sees more.
    if (this.meanwhile !== meanwhile) return;
    this.meanwhile = undefined;
    if (ids === "unknown") this.readAgainAt = performance.now() + this.retryMs;
    else if (ids === undefined) this.giveUp();
    else this.ids = new Set([...ids, ...meanwhile]);
  }

  /** There are too many: until changes may have been missed, which is a new beginning. */
  private giveUp(): void {
    this.ids = undefined;
    this.readAgainAt = Number.POSITIVE_INFINITY;
  }
}
