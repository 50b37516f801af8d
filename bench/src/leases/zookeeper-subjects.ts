import { type LeasedStore, leased } from "headgate";
import { ZooKeeperStore } from "headgate/zookeeper";
import { openNaiveLock } from "./naive-lock.ts";
import { storeChecker } from "./store-checker.ts";
import { EAGER, LEASED, LOCK, type Place, type Subject } from "./subjects.ts";

/** Long waits should show in the figures instead of failing. */
const PATIENCE = { timeoutMs: 10_000, sessionTimeoutMs: 30_000 };

export async function openSubject(name: string, place: Place): Promise<Subject> {
  if (name === LOCK) return openNaiveLock(place);
  const zookeeper = new ZooKeeperStore(place.address, PATIENCE);
  await zookeeper.ready();
  const store = storeOf(name, zookeeper);
  return {
    checker: storeChecker(store),
    roundTrips: () => zookeeper.stats.reads + zookeeper.stats.writes,
    close: () => store.close(),
  };
}

function storeOf(name: string, zookeeper: ZooKeeperStore): LeasedStore | ZooKeeperStore {
  if (name === LEASED) return leased(zookeeper);
  if (name === EAGER) return leased(zookeeper, { promoteAfter: 1, idleMs: 10_000 });
  return zookeeper;
}
