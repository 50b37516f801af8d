import { once } from "node:events";
import { type Client, CreateMode, createClient, Exception } from "node-zookeeper-client";
import type { Place, Subject } from "./subjects.ts";

const SESSION_MS = 30_000;
const TOTAL = 10 ** 12;

/** How many keys are made at a time. */
const MADE_AT_ONCE = 100;

/**
 * What one would write first: for each check take a lock on the key, read what may still be used, write it less the
 * cost, let go of the lock. The lock is ZooKeeper's recipe: everybody makes an ephemeral znode with the next number,
 * the lowest has the lock, each other watches the one before it. Written as well as that can be; what is left out is
 * that the quota is full again after a while.
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
      // Another process was quicker.
      if (codeOf(error) !== Exception.NODE_EXISTS) throw error;
    }
  }

  async check(key: string, cost = 1): Promise<{ readonly allowed: boolean }> {
    const mine = await this.lock(locksOf(key));
    const usable = Number(await this.call<Buffer>((done) => this.client.getData(usableOf(key), done)));
    const allowed = usable >= cost;
    // One after the other without waiting in between: ZooKeeper keeps the order of a client's requests.
    await Promise.all([
      allowed && this.call((done) => this.client.setData(usableOf(key), Buffer.from(String(usable - cost)), done)),
      this.call((done) => this.client.remove(mine, (error) => done(error, undefined))),
    ]);
    return { allowed };
  }

  /** Answers the znode to remove. */
  private async lock(locks: string): Promise<string> {
    const mine = await this.call<string>((done) =>
      this.client.create(`${locks}/check-`, CreateMode.EPHEMERAL_SEQUENTIAL, done),
    );
    const name = mine.slice(locks.length + 1);
    for (;;) {
      const waiting = await this.call<string[]>((done) => this.client.getChildren(locks, done));
      // Numbers have leading zeros, so they sort as texts.
      const before = waiting
        .filter((other) => other < name)
        .sort()
        .at(-1);
      if (before === undefined) return mine;
      await this.gone(`${locks}/${before}`);
    }
  }

  /** Reads it, for a watch that is set by asking whether it exists would stay behind if it does not. */
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
