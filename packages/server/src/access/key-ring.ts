import { createHmac, scryptSync, timingSafeEqual } from "node:crypto";
import { HeadgateError } from "headgate";
import type { Database } from "../database/database.ts";
import { type ApiKeyRecord, ROLES, type Role } from "./api-key.ts";
import { hashOf, keyIdIn, makeKey } from "./secret.ts";
import { claimsIn, csrfTokenOf, isSealedWith, sealSession } from "./session-token.ts";

/** The key that a request was authenticated with. */
export interface Principal {
  /** The id of the key. */
  readonly id: string;
  readonly name: string;
  readonly roles: readonly Role[];
  /** Of its counters for limits that are sent with a call. */
  readonly namespace: string;
}

/** A session that was started with an API key. */
export interface Session {
  readonly principal: Principal;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
  /** Must be sent with every change. */
  readonly csrfToken: string;
}

export interface NewSession extends Session {
  /** For the cookie. */
  readonly token: string;
}

/** The part of the database that keys need. */
export type KeyStore = Pick<Database, "keys" | "onChange">;

export interface KeyRingOptions {
  /** HEADGATE_ADMIN_KEY: has every role, and is not stored. */
  readonly adminKey?: string | undefined;
  /** Called when the keys cannot be read. The previous keys stay valid, and reading is retried. */
  readonly onError?: (error: unknown) => void;
  /** In milliseconds. Default: the system clock. */
  readonly now?: () => number;
}

const ADMIN: Principal = { id: "admin", name: "HEADGATE_ADMIN_KEY", roles: ROLES, namespace: "admin" };
/** Eight characters can be guessed, but may be a deliberate choice; fewer are a mistake. */
const ADMIN_KEY = /^[\x21-\x7e]{8,512}$/;
const LONGEST_HEADER = 1_024;
const BEARER = /^bearer +/i;
/** A revoked key must be rejected within a second. */
const RETRY_MS = 250;

const SESSION_PURPOSE = "headgate session";

/** Maximum number of cached headers; usually there is one per key. */
const MOST_HEADERS = 1_000;

/** A valid key, ready for comparison. */
class Known {
  readonly principal: Principal;
  readonly expiresAt: number;
  private readonly hash: Buffer;
  #sessionSecret: Buffer | undefined;

  constructor(principal: Principal, hash: Buffer, expiresAt = Number.POSITIVE_INFINITY) {
    this.principal = principal;
    this.hash = hash;
    this.expiresAt = expiresAt;
  }

  isOpenedBy(secret: string): boolean {
    return timingSafeEqual(hashOf(secret), this.hash);
  }

  /** Signs the sessions of this key, on all nodes alike. */
  get sessionSecret(): Buffer {
    this.#sessionSecret ??= this.#deriveSessionSecret();
    return this.#sessionSecret;
  }

  /** Slow for the admin key of the settings, which may be short: a stolen cookie must not make guessing it easy. */
  #deriveSessionSecret(): Buffer {
    if (this.principal === ADMIN) return scryptSync(this.hash, SESSION_PURPOSE, 32);
    return createHmac("sha256", this.hash).update(SESSION_PURPOSE).digest();
  }
}

/** Compared with if there is no such key, so that an unknown id takes as long as a wrong secret. */
const NOBODY = new Known({ id: "", name: "", roles: [], namespace: "" }, Buffer.alloc(32));

/**
 * The valid keys, in memory: requests are authenticated synchronously, even while the database is down. The change feed
 * keeps them up to date on every node.
 */
export class KeyRing {
  private readonly store: KeyStore;
  private readonly admin: Known | undefined;
  private readonly onError: (error: unknown) => void;
  private readonly now: () => number;
  private readonly stopListening: () => void;
  private known: ReadonlyMap<string, Known> = new Map();
  /**
   * The keys of headers that were accepted, until the keys change: hashing is the most expensive part of a check. Only
   * valid headers are stored. A Map looks guesses up by a hash with a random seed per process, so the time it takes
   * reveals nothing about how close a guess was.
   */
  private right = new Map<string, Known>();
  private retry: NodeJS.Timeout | undefined;
  private closed = false;
  private reads = 0;

  constructor(store: KeyStore, { adminKey, onError = () => {}, now = Date.now }: KeyRingOptions = {}) {
    this.store = store;
    this.admin = adminKey === undefined ? undefined : new Known(ADMIN, hashOf(requireAdminKey(adminKey)));
    this.onError = onError;
    this.now = now;
    this.stopListening = store.onChange(({ kind }) => {
      if (kind === "keys" || kind === "all") void this.refreshUntilDone();
    });
  }

  /** Rereads the keys. */
  async refresh(): Promise<void> {
    this.reads += 1;
    const mine = this.reads;
    const records = await this.store.keys.all();
    // Reads may finish out of order: only the one that started last counts.
    if (mine !== this.reads) return;
    this.known = new Map(records.flatMap(knownOf));
    // The admin key of the settings does not change.
    this.right = new Map([...this.right].filter(([, known]) => known === this.admin));
  }

  /**
   * The valid key in an Authorization header; undefined if there is none. If `mayGuess` returns false, the admin key of
   * the settings is not compared, because it may be short enough to be guessed. Headers that were accepted before are
   * recognized without asking.
   */
  authenticate(authorization: string | undefined, mayGuess: () => boolean = always): Principal | undefined {
    if (authorization === undefined) return undefined;
    return this.recognize(authorization) ?? this.validOwner(this.openedBy(authorization, mayGuess));
  }

  /** The valid key in a header that was accepted before. */
  recognize(authorization: string): Principal | undefined {
    return this.validOwner(this.right.get(authorization));
  }

  /** Starts a session for a valid key. It ends no later than the key does. */
  startSession(keyId: string, lifetimeMs: number): NewSession | undefined {
    const known = this.knownBy(keyId);
    if (known === undefined) return undefined;
    const expiresAt = Math.min(this.now() + lifetimeMs, known.expiresAt);
    const token = sealSession({ keyId, expiresAt }, known.sessionSecret);
    return { token, principal: known.principal, expiresAt, csrfToken: csrfTokenOf(token, known.sessionSecret) };
  }

  /** The session that a token proves; undefined if it has expired, or its key has expired or was revoked. */
  session(token: string): Session | undefined {
    const claims = claimsIn(token);
    if (claims === undefined || this.now() >= claims.expiresAt) return undefined;
    const known = this.knownBy(claims.keyId);
    if (known === undefined || !isSealedWith(token, known.sessionSecret)) return undefined;
    const { expiresAt } = claims;
    return { principal: known.principal, expiresAt, csrfToken: csrfTokenOf(token, known.sessionSecret) };
  }

  /**
   * Creates the first admin key if there is no other, and returns its secret, which is shown once. `keep` receives the
   * secret first: if it fails, no key is created.
   */
  async makeFirstKey(keep: (secret: string) => Promise<void> = async () => {}): Promise<string | undefined> {
    await this.refresh();
    if (this.admin !== undefined || this.hasAdmin()) return undefined;
    const { record, secret } = makeKey("first admin", ROLES, { now: new Date(this.now()) });
    await keep(secret);
    await this.store.keys.add(record, { id: "system", name: "first start" });
    await this.refresh();
    return secret;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
    this.stopListening();
  }

  private validOwner(known: Known | undefined): Principal | undefined {
    if (known === undefined) return undefined;
    // Most keys do not expire, and reading the clock takes longer than finding the key.
    const { principal, expiresAt } = known;
    return expiresAt === Number.POSITIVE_INFINITY || this.now() < expiresAt ? principal : undefined;
  }

  private openedBy(authorization: string, mayGuess: () => boolean): Known | undefined {
    const secret = secretIn(authorization);
    if (secret === undefined) return undefined;
    const known = this.known.get(keyIdIn(secret)) ?? (mayGuess() ? this.admin : undefined) ?? NOBODY;
    if (!known.isOpenedBy(secret)) return undefined;
    if (this.right.size >= MOST_HEADERS) this.right.clear();
    this.right.set(authorization, known);
    return known;
  }

  private knownBy(keyId: string): Known | undefined {
    const known = keyId === ADMIN.id ? this.admin : this.known.get(keyId);
    return known !== undefined && this.now() < known.expiresAt ? known : undefined;
  }

  private hasAdmin(): boolean {
    const now = this.now();
    return [...this.known.values()].some(
      ({ principal, expiresAt }) => now < expiresAt && ROLES.every((role) => principal.roles.includes(role)),
    );
  }

  private async refreshUntilDone(): Promise<void> {
    clearTimeout(this.retry);
    try {
      await this.refresh();
    } catch (error) {
      if (this.closed) return;
      this.onError(error);
      this.retry = setTimeout(() => void this.refreshUntilDone(), RETRY_MS).unref();
    }
  }
}

const always = (): boolean => true;

function knownOf({ key_id, name, roles, namespace, hash, expires_at, revoked_at }: ApiKeyRecord): [string, Known][] {
  if (revoked_at !== null) return [];
  const expiresAt = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
  return [[key_id, new Known({ id: key_id, name, roles, namespace }, Buffer.from(hash, "hex"), expiresAt)]];
}

function secretIn(authorization: string): string | undefined {
  if (authorization.length > LONGEST_HEADER) return undefined;
  const secret = authorization.replace(BEARER, "");
  return secret === authorization ? undefined : secret;
}

function requireAdminKey(key: string): string {
  if (ADMIN_KEY.test(key)) return key;
  // The message does not contain the key.
  throw new HeadgateError(
    "HG_BAD_OPTION",
    "HEADGATE_ADMIN_KEY",
    "must have 8 to 512 printable characters and no spaces: use 32 random bytes in hex, for example",
  );
}
