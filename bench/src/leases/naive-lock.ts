import { once } from "node:events";
import { type Client, CreateMode, createClient, Exception } from "node-zookeeper-client";
import type { Place, Subject } from "./subjects.ts";

const SESSION_MS = 30_000;
const TOTAL = 10 ** 12;

/** Number of keys to create at a time. */
const MADE_AT_ONCE = 100;

/**
 * The obvious implementation: for each check, lock the key, read the remaining quota, write it minus the cost, and
 * unlock. The lock follows ZooKeeper's recipe: every client creates an ephemeral sequential znode, the lowest has the
 * lock, and each other watches its predecessor. It is written as well as possible, except that the quota never refills.
 */
class NaiveLock {
  roundTrips = 0;
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async make(key: string): Promise<void> {
    await this.call<string>((done) => this.client.mkdirp(locksOf(key), done));
    try {
      await this.call<string>((done) => this.client.create(usableOf(key), Buffer.from(String(TOTAL)), done));
    } catch (error) {
      // Another process was faster.
      if (codeOf(error) !== Exception.NODE_EXISTS) throw error;
    }
  }

  async check(key: string, cost = 1): Promise<{ readonly allowed: boolean }> {
    const mine = await this.lock(locksOf(key));
    const usable = Number(await this.call<Buffer>((done) => this.client.getData(usableOf(key), done)));
    const allowed = usable >= cost;
    // Sent without waiting in between: ZooKeeper preserves the order of a client's requests.
    await Promise.all([
      allowed && this.call((done) => this.client.setData(usableOf(key), Buffer.from(String(usable - cost)), done)),
      this.call((done) => this.client.remove(mine, (error) => done(error, undefined))),
    ]);
    return { allowed };
  }

  /** Returns the znode to remove. */
  private async lock(locks: string): Promise<string> {
    const mine = await this.call<string>((done) =>
      this.client.create(`${locks}/check-`, CreateMode.EPHEMERAL_SEQUENTIAL, done),
    );
    const name = mine.slice(locks.length + 1);
    for (;;) {
      const waiting = await this.call<string[]>((done) => this.client.getChildren(locks, done));
      // Numbers have leading zeros, so they sort as text.
      const before = waiting
        .filter((other) => other < name)
        .sort()
        .at(-1);
      if (before === undefined) return mine;
      await this.gone(`${locks}/${before}`);
    }
  }

  /** Uses a read, because a watch set by an existence check would remain if the znode does not exist. */
  private async gone(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.call<Buffer>((done) => this.client.getData(path, () => resolve(), done)).catch((error) => {
        if (codeOf(error) === Exception.NO_NODE) resolve();
        else reject(error);
      });
    });
  }

  private call<T>(ask: (done: (error: unknown, value: T) => void) => void): Promise<T> {
    this.roundTrips += 1;
    return new Promise((resolve, reject) => {
      ask((error, value) => (error ? reject(error) : resolve(value)));
    });
  }
}

export async function openNaiveLock({ address, keys }: Place): Promise<Subject> {
  const client = createClient(address, { sessionTimeout: SESSION_MS });
  client.connect();
  await once(client, "connected");
  const naive = new NaiveLock(client);
  for (let i = 0; i < keys.length; i += MADE_AT_ONCE) {
    await Promise.all(keys.slice(i, i + MADE_AT_ONCE).map((key) => naive.make(key)));
  }
  return {
    checker: {
      kind: "async",
      check: (key) => naive.check(key),
      allowed: (answer) => "allowed" in answer && answer.allowed === true,
    },
    roundTrips: () => naive.roundTrips,
    async close() {
      client.close();
    },
  };
}

function locksOf(key: string): string {
  return `/naive/${key}/locks`;
}

function usableOf(key: string): string {
  return `/naive/${key}/usable`;
}

function codeOf(error: unknown): number | undefined {
  return error instanceof Exception ? error.getCode() : undefined;
}
