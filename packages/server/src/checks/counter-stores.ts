import {
  type CachedStats,
  type Clock,
  cached,
  type DegradedChange,
  type LeasedStats,
  leased,
  MemoryStore,
  type Operation,
  type ResilientStats,
  type Rule,
  resilient,
  type Store,
  SystemClock,
  tokenBucket,
} from "headgate";
import { RedisStore } from "headgate/redis";
import { ZooKeeperStore } from "headgate/zookeeper";
import { fields } from "../config/fields.ts";
import type { Settings } from "../config/settings.ts";
import type { Consistency } from "../rules/rule.ts";

/** Where counters are kept, by how near to it a decision is made. */
export interface Stores extends Readonly<Record<Consistency, Store>> {
  /** Where all nodes count together, if there is such a place. It answers also when that fails. */
  readonly shared?: Store;
  /** Whether anything may be kept under a rule. Absent: under each. */
  readonly mayHold?: (rule: Rule) => boolean;
  /** Their time. */
  readonly clock: Clock;
  readonly stats: StoreStats;
  /** The servers of the store, if it tells them apart. */
  readonly nodes?: NonNullable<Store["nodes"]>;
  /** Connects, so that the first checks need not. Fails with a StoreError if the store is unreachable. */
  ready(): Promise<void>;
  /** Whether the store itself answers. Also closes the breaker of a store that has recovered when there are no checks. */
  probe(): Promise<boolean>;
  /** Writes what is pending, gives leases back, and disconnects. */
  close(): Promise<void>;
}

/** Whether a shared store answers. `partial`: it decides for some keys, and for the others rules do what `on_error` says. */
export type StoreState = "reachable" | "partial" | "unreachable";

/** How they stand, as far as they are there. */
export interface StoreStats {
  /** Keys held in memory, where that is the store. */
  readonly memoryKeys?: () => number;
  readonly resilient?: ResilientStats;
  readonly cached?: () => CachedStats;
  readonly leased?: () => LeasedStats;
}

export interface StoreHooks {
  /** Told when the store is given up, and when it is back. Default: a warning of the process. */
  readonly onDegraded?: (change: DegradedChange) => void;
  /** Told of each call that the store did not answer. */
  readonly onFailure?: (code: string, cause: unknown) => void;
}

type StoreSettings = Pick<Settings, "redis" | "zookeeper" | "nodes"> & Partial<Pick<Settings, "storeTimeoutMs">>;

/** It takes nothing, and is kept nowhere. */
const PROBE: Operation = { rule: { name: "probe", limit: tokenBucket("1/s") }, key: "headgate", cost: 1 };
/** How many keys are tried to find one on each server. */
const PROBE_KEYS = 10_000;

/** Opens the store that the settings name: Redis, ZooKeeper, else this process's memory. */
export async function openStores(settings: StoreSettings, hooks: StoreHooks = {}, clock?: Clock): Promise<Stores> {
  const { redis, zookeeper } = settings;
  if (redis !== undefined) return shared(new RedisStore(redis), settings, hooks);
  if (zookeeper !== undefined) return shared(new ZooKeeperStore(zookeeper), settings, hooks);
  return inMemory(clock ?? new SystemClock());
}

/** One process, one memory: nothing is nearer, and it never fails. */
function inMemory(clock: Clock): Stores {
  const memory = new MemoryStore({ clock });
  return {
    strict: memory,
    cached: memory,
    leased: memory,
    mayHold: (rule) => memory.has(rule),
    clock,
    stats: { memoryKeys: () => Object.values(memory.stats).reduce((sum, { keys }) => sum + keys, 0) },
    ready: async () => {},
    probe: async () => true,
    close: async () => {},
  };
}

interface SharedStore extends Store {
  readonly clock: Clock;
  ready(): Promise<void>;
  close(): Promise<void>;
}

function shared(store: SharedStore, settings: StoreSettings, hooks: StoreHooks): Stores {
  const { nodes, storeTimeoutMs = fields.storeTimeoutMs.initial } = settings;
  const strict = resilient(store, { deadlineMs: storeTimeoutMs, nodes, ...hooks });
  const near = cached(lent(strict));
  const held = leased(lent(strict), { nodes });
  return {
    strict,
    cached: near,
    leased: held,
    shared: lent(strict),
    clock: store.clock,
    ...(store.nodes && { nodes: store.nodes }),
    stats: { resilient: strict.stats, cached: () => near.stats, leased: () => held.stats },
    ready: () => store.ready(),
    async probe() {
      const answers = await Promise.all(probesOf(store).map((operation) => strict.apply("peek", [operation])));
      return answers.every(([{ degraded }]) => !degraded);
    },
    async close() {
      await Promise.all([near.close(), held.close()]);
      await strict.close();
      await store.close();
    },
  };
}

/** One for each server of the store. */
function probesOf({ nodes }: Store): readonly Operation[] {
  const left = new Set(nodes?.all());
  if (nodes === undefined || left.size < 2) return [PROBE];
  const probes: Operation[] = [];
  for (let i = 0; i < PROBE_KEYS && left.size > 0; i += 1) {
    const key = `${PROBE.key}-${i}`;
    if (left.delete(nodes.of(key))) probes.push({ ...PROBE, key });
  }
  return probes;
}

/** A store that others close. */
function lent(store: Store): Store {
  const { clock, notifications, journal, nodes } = store;
  return {
    ...(clock && { clock }),
    ...(notifications && { notifications }),
    ...(journal && { journal }),
    ...(nodes && { nodes }),
    apply: (action, operations, options) => store.apply(action, operations, options),
  };
}
