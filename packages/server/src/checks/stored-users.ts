import type { Change, UserTable } from "../database/database.ts";

/** Beyond this number, each user is looked up on demand. */
const MOST_USERS = 100_000;
/** How long the database is not asked after it failed to answer. */
const RETRY_MS = 1_000;

export interface StoredUsersOptions {
  /** Maximum number of users to remember. Default 100,000. */
  readonly maxUsers?: number;
  readonly retryMs?: number;
}

/**
 * The users that have any stored data. Most have neither a tier nor limits of their own, and for them the database does
 * not have to be asked.
 */
export class StoredUsers {
  private readonly users: Pick<UserTable, "ids">;
  private readonly maxUsers: number;
  private readonly retryMs: number;
  /** Undefined if unknown or too many. */
  private ids: Set<string> | undefined;
  /** Users changed since the read in progress started, if there is one. */
  private meanwhile: Set<string> | undefined;
  private readAgainAt = 0;

  constructor(users: Pick<UserTable, "ids">, options: StoredUsersOptions = {}) {
    const { maxUsers = MOST_USERS, retryMs = RETRY_MS } = options;
    this.users = users;
    this.maxUsers = maxUsers;
    this.retryMs = retryMs;
  }

  /** Whether it is certain that a user has no stored data. */
  lack(userId: string): boolean {
    if (this.ids !== undefined) return !this.ids.has(userId);
    if (this.meanwhile === undefined && performance.now() >= this.readAgainAt) void this.read();
    return false;
  }

  /** Must be called for every change in the database. */
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
    // A later read has started, and will see more.
    if (this.meanwhile !== meanwhile) return;
    this.meanwhile = undefined;
    if (ids === "unknown") this.readAgainAt = performance.now() + this.retryMs;
    else if (ids === undefined) this.giveUp();
    else this.ids = new Set([...ids, ...meanwhile]);
  }

  /** There are too many users. Tried again only when changes may have been missed. */
  private giveUp(): void {
    this.ids = undefined;
    this.readAgainAt = Number.POSITIVE_INFINITY;
  }
}
