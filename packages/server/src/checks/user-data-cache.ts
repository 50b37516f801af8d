import type { Change, UserTable } from "../database/database.ts";
import type { UserData } from "../rules/user-limits.ts";
import type { StoredUsers } from "./stored-users.ts";

const MOST_USERS = 250_000;
/** How long a check waits for the database. */
const PATIENCE_MS = 250;
/** How long the database is not asked after a failure, so that checks do not wait for it. */
const RETRY_MS = 1_000;

export interface UserDataCacheOptions {
  /** Maximum number of users to remember. Default 250,000. */
  readonly maxUsers?: number;
  readonly patienceMs?: number;
  readonly retryMs?: number;
  /** The users that have stored data. Without it, every user is looked up at the first check. */
  readonly stored?: StoredUsers;
}

interface Known {
  /** Undefined if nothing is stored for the user. */
  userData: UserData | undefined;
  /** Whether it may have changed since. */
  stale: boolean;
}

/** A pending query to the database. */
class Lookup {
  /** Whether the user has changed since it was sent. */
  outdated = false;
  readonly answer: Promise<UserData | undefined>;

  constructor(ask: (lookup: Lookup) => Promise<UserData | undefined>) {
    this.answer = ask(this);
  }
}

/**
 * Caches the stored data of users. Known users are answered immediately. While the database is down, the last known
 * data applies, and unknown users have the default limits.
 */
export class UserDataCache {
  private readonly users: Pick<UserTable, "get">;
  private readonly known = new Map<string, Known>();
  private readonly lookups = new Map<string, Lookup>();
  private readonly maxUsers: number;
  private readonly patienceMs: number;
  private readonly retryMs: number;
  private readonly stored: StoredUsers | undefined;
  private goneUntil = 0;
  /** How often the database did not answer, and how often checks were decided without it. */
  readonly stats = { failures: 0, lastKnown: 0, unknown: 0 };

  constructor(users: Pick<UserTable, "get">, options: UserDataCacheOptions = {}) {
    const { maxUsers = MOST_USERS, patienceMs = PATIENCE_MS, retryMs = RETRY_MS } = options;
    this.users = users;
    this.maxUsers = maxUsers;
    this.patienceMs = patienceMs;
    this.retryMs = retryMs;
    this.stored = options.stored;
  }

  /** Undefined if nothing is stored for the user, or if it cannot be read. */
  of(userId: string): UserData | undefined | Promise<UserData | undefined> {
    if (this.stored?.lack(userId) === true) return undefined;
    const known = this.known.get(userId);
    if (known !== undefined && !known.stale) return known.userData;
    if (this.goneUntil > 0 && performance.now() < this.goneUntil) return this.withoutDatabase(known);
    return this.lookUp(userId);
  }

  /** Must be called for every change in the database. */
  changed(change: Change): void {
    this.stored?.changed(change);
    if (change.kind === "user") this.outdate(change.user_id);
    if (change.kind !== "all") return;
    for (const known of this.known.values()) known.stale = true;
    for (const lookup of this.lookups.values()) lookup.outdated = true;
    this.goneUntil = 0;
  }

  private outdate(userId: string): void {
    const known = this.known.get(userId);
    if (known !== undefined) known.stale = true;
    const lookup = this.lookups.get(userId);
    if (lookup !== undefined) lookup.outdated = true;
  }

  /** Concurrent checks of one user share a query. A query sent before a change is not used by checks after it. */
  private lookUp(userId: string): Promise<UserData | undefined> {
    const under = this.lookups.get(userId);
    if (under !== undefined && !under.outdated) return under.answer;
    const lookup = new Lookup((lookup) => this.ask(userId, lookup));
    this.lookups.set(userId, lookup);
    return lookup.answer;
  }

  private async ask(userId: string, lookup: Lookup): Promise<UserData | undefined> {
    try {
      const userData = await inTime(this.users.get(userId), this.patienceMs);
      const stored = userData.version > 0 ? userData : undefined;
      this.remember(userId, { userData: stored, stale: lookup.outdated });
      return stored;
    } catch {
      this.stats.failures += 1;
      this.goneUntil = performance.now() + this.retryMs;
      return this.withoutDatabase(this.known.get(userId));
    } finally {
      if (this.lookups.get(userId) === lookup) this.lookups.delete(userId);
    }
  }

  private withoutDatabase(known: Known | undefined): UserData | undefined {
    if (known === undefined) this.stats.unknown += 1;
    else this.stats.lastKnown += 1;
    return known?.userData;
  }

  private remember(userId: string, known: Known): void {
    if (this.known.size >= this.maxUsers && !this.known.has(userId)) {
      const [oldest] = this.known.keys();
      this.known.delete(oldest);
    }
    this.known.set(userId, known);
  }
}

function inTime<Value>(answer: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the database did not answer in time")), ms);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
