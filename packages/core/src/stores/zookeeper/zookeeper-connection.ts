import { ACL, type Client, Id, Permission, type Stat } from "node-zookeeper-client";
import { parentsOf } from "./znode-names.ts";
import { isConflict, isMissing, unreachable } from "./zookeeper-errors.ts";
import { type Done, Session } from "./zookeeper-session.ts";

/** A znode as read. */
export interface Reading {
  readonly data: Buffer;
  readonly stat: Stat;
}

/** One step of an atomic transaction. */
export type Step =
  | { readonly do: "create"; readonly path: string; readonly data?: Buffer }
  | { readonly do: "set"; readonly path: string; readonly data: Buffer; readonly version: number }
  | { readonly do: "check"; readonly path: string; readonly version: number }
  | { readonly do: "remove"; readonly path: string; readonly version: number };

const NOTHING: Buffer = Buffer.alloc(0);

/** Matches any version of a znode. */
export const ANY_VERSION = -1;

export interface ConnectionOptions {
  readonly sessionTimeoutMs: number;
  readonly silenceMs: number;
  readonly auth: string | undefined;
  /** Called for each new session. */
  readonly onOpen: () => void;
}

/** Short enough to be back within a second, and long enough not to overload a server that is starting. */
const PAUSE_MS = { least: 50, most: 250 };

/** A session with one server of an ensemble. When it ends, a new one is opened with the next server. */
export class Connection {
  /** Resolves when the first session is open or no server could be reached; after that, calls report the state. */
  readonly first: Promise<void>;
  /** Number of calls to the servers. */
  readonly calls = { reads: 0, writes: 0 };
  private readonly servers: readonly string[];
  // Private, so that printing a store does not print the password.
  readonly #options: ConnectionOptions;
  private readonly acl: ACL[] | undefined;
  private readonly tried: () => void;
  private next: number;
  private failures = 0;
  private trouble = "no connection attempt yet";
  private link: Session | undefined;
  private isOpen = false;
  private pause: NodeJS.Timeout | undefined;
  private ended: (() => void) | undefined;

  constructor(servers: readonly string[], options: ConnectionOptions) {
    this.servers = servers;
    this.#options = options;
    // Znodes created by an authenticated user are accessible to that user only.
    this.acl = options.auth === undefined ? undefined : [new ACL(Permission.ALL, new Id("auth", ""))];
    const { promise, resolve } = withResolve();
    this.first = promise;
    this.tried = resolve;
    // Start with a random server, to distribute clients over the ensemble.
    this.next = Math.floor(Math.random() * servers.length);
    this.open();
  }

  get isConnected(): boolean {
    return this.isOpen;
  }

  /** The znode, or undefined if it does not exist. */
  async read(path: string): Promise<Reading | undefined> {
    this.calls.reads += 1;
    try {
      return await this.call((client, done: Done<Reading>) =>
        client.getData(path, (error, data, stat) => done(error, { data, stat })),
      );
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Like `read`, and calls `listener` once at the next change, including the creation of the znode. */
  async watch(path: string, listener: () => void): Promise<Reading | undefined> {
    const stat = await this.call((client, done: Done<Stat | null>) => client.exists(path, listener, done));
    return stat === null ? undefined : this.read(path);
  }

  async children(path: string): Promise<string[]> {
    try {
      return await this.call((client, done: Done<string[]>) => client.getChildren(path, done));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  set(path: string, data: Buffer, version: number): Promise<Stat> {
    this.calls.writes += 1;
    return this.call((client, done: Done<Stat>) => client.setData(path, data, version, done));
  }

  /** Executes all steps or none. Returns the new state of each znode that was set. */
  async commit(steps: readonly Step[]): Promise<Map<string, Stat>> {
    this.calls.writes += 1;
    const results = await this.call((client, done: Done<readonly unknown[]>) => {
      const transaction = client.transaction();
      for (const step of steps) {
        if (step.do === "create") transaction.create(step.path, step.data ?? NOTHING, ...this.owner);
        else if (step.do === "set") transaction.setData(step.path, step.data, step.version);
        else if (step.do === "check") transaction.check(step.path, step.version);
        else transaction.remove(step.path, step.version);
      }
      transaction.commit(done);
    });
    const stats = new Map<string, Stat>();
    for (const [i, { path }] of steps.entries()) {
      const result = results[i];
      if (isSet(result)) stats.set(path, result.stat);
    }
    return stats;
  }

  /** Returns false if there was a conflict. */
  async commitOrConflict(steps: readonly Step[]): Promise<boolean> {
    try {
      await this.commit(steps);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /** Creates the missing ancestors of a znode. */
  async makeParents(path: string): Promise<void> {
    for (const parent of parentsOf(path)) await this.make(parent);
  }

  async make(path: string, data: Buffer = NOTHING): Promise<void> {
    await this.unlessThere((client, done) => {
      const [acl] = this.owner;
      if (acl === undefined) client.create(path, data, done);
      else client.create(path, data, acl, done);
    });
  }

  async remove(path: string, version: number): Promise<void> {
    await this.unlessThere((client, done) => client.remove(path, version, (error) => done(error, "")));
  }

  /** Ends the session without opening a new one. */
  async close(): Promise<void> {
    clearTimeout(this.pause);
    const { promise, resolve } = withResolve();
    this.ended = resolve;
    this.tried();
    if (this.link === undefined) return;
    this.link.close();
    await promise;
  }

  private get owner(): ACL[][] {
    return this.acl === undefined ? [] : [this.acl];
  }

  private open(): void {
    const server = this.servers[this.next % this.servers.length];
    this.next += 1;
    this.link = new Session(server, {
      ...this.#options,
      onOpen: () => {
        this.isOpen = true;
        this.failures = 0;
        this.#options.onOpen();
        this.tried();
      },
      onEnd: (reason) => {
        this.link = undefined;
        this.isOpen = false;
        this.trouble = `${server}: ${reason}`;
        this.failures += 1;
        this.reopen();
      },
    });
  }

  private reopen(): void {
    if (this.ended !== undefined) {
      this.ended();
      return;
    }
    const areAllTried = this.failures >= this.servers.length;
    if (areAllTried) this.tried();
    const { least, most } = PAUSE_MS;
    this.pause = setTimeout(() => this.open(), areAllTried ? least + Math.random() * (most - least) : 0);
  }

  private async call<T>(ask: (client: Client, done: Done<T>) => void): Promise<T> {
    if (this.link === undefined || !this.isOpen) throw unreachable(this.trouble);
    return this.link.call(ask);
  }

  private async unlessThere(ask: (client: Client, done: Done<string>) => void): Promise<void> {
    try {
      await this.call(ask);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

function isSet(result: unknown): result is { readonly stat: Stat } {
  return typeof result === "object" && result !== null && "stat" in result;
}

function withResolve(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
