import { startZooKeeper, type ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import { afterAll, beforeAll } from "vitest";
import { ZooKeeperStore, type ZooKeeperStoreOptions } from "../../../src/zookeeper.ts";

/** A slow machine is not a failure. */
const PATIENCE_MS = 30_000;

/** A ZooKeeper for the tests of a file, and stores on it. */
export class ZooKeeperForTests {
  private started: ZooKeeperServer | undefined;
  private readonly stores: ZooKeeperStore[] = [];
  private roots = 0;

  get server(): ZooKeeperServer {
    if (this.started === undefined) throw new Error("only in a test");
    return this.started;
  }

  /** One that no test has used before. */
  newRoot(): string {
    this.roots += 1;
    return `/test${this.roots}`;
  }

  /** A store that is ready, and holds nothing yet unless a root is given. It is closed after all tests. */
  async store(options: ZooKeeperStoreOptions = {}): Promise<ZooKeeperStore> {
    const settings = { root: this.newRoot(), timeoutMs: PATIENCE_MS, purgeEveryMs: 0, ...options };
    const store = new ZooKeeperStore(this.server.address, settings);
    this.stores.push(store);
    await store.ready();
    return store;
  }

  async start(): Promise<void> {
    this.started = await startZooKeeper();
  }

  async stop(): Promise<void> {
    await Promise.all(this.stores.map((store) => store.close()));
    await this.started?.stop();
  }
}

export function useZooKeeper(): ZooKeeperForTests {
  const zookeeper = new ZooKeeperForTests();
  beforeAll(() => zookeeper.start());
  afterAll(() => zookeeper.stop());
  return zookeeper;
}
