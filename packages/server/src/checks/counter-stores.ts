import {
  type CachedStore,
  type Clock,
  cached,
  type DegradedChange,
  type LeasedStore,
  leased,
  MemoryStore,
  type Operation,
  type ResilientStore,
  type Rule,
  resilient,
  type Store,
  SystemClock,
  tokenBucket,
} from "headgate";
import { StoreWrapper } from "headgate/store";
import { fields } from "../config/fields.ts";
import type { Settings } from "../config/settings.ts";
import type { Consistency } from "../rules/rule.ts";
import { OwnedMemory } from "../workers/owned-memory.ts";
import type { WorkerMesh } from "../workers/worker-mesh.ts";
import { configuredStores, type SharedStoreName } from "./shared-stores.ts";
import type { SplitAmongNodes } from "./split-among-nodes.ts";

/** The stores of counters, by consistency. */
export interface Stores extends Readonly<Record<Consistency, Store>> {
  /** The store shared by all nodes, if any. It answers even if the server fails. */
  readonly shared?: Store;
  /** Joins the nodes among which limits are split. Absent if the store cannot do that. */
  readonly join?: () => Promise<void>;
  /** Whether quota can be reserved: the process that reserves it, or a journal, knows the reservation. */
  readonly canReserve: boolean;
  /** Whether anything may be stored under a rule. Absent: under every rule. */
  readonly mayHold?: (rule: Rule) => boolean;
  /** The clock of the stores. */
  readonly clock: Clock;
  readonly stats: StoreStats;
  /** The servers of the store, if it distinguishes them. */
  readonly nodes?: NonNullable<Store["nodes"]>;
  /** Connects, so that the first checks need not. Fails with a StoreError if the store is unreachable. */
  ready(): Promise<void>;
  /** Whether the store itself answers. Also closes the breaker of a store that has recovered when there are no checks. */
  probe(): Promise<boolean>;
  /** Writes what is pending, gives leases back, and disconnects. */
  close(): Promise<void>;
}

/** Whether a shared store answers. `partial`: it decides for some keys; for the others, `on_error` applies. */
export type StoreState = "reachable" | "partial" | "unreachable";

/** Statistics of the stores that exist. */
export interface StoreStats {
  /** Number of keys in memory, if that is the store. */
  readonly memoryKeys?: () => number;
  readonly resilient?: ResilientStore["stats"];
  readonly cached?: () => CachedStore["stats"];
  readonly leased?: () => LeasedStore["stats"];
  readonly split?: () => SplitAmongNodes["stats"];
}

export interface StoreHooks {
  /** Called when the store is considered down, and when it is back. Default: a process warning. */
  readonly onDegraded?: (change: DegradedChange) => void;
  /** Called for each call that the store did not answer. */
  readonly onFailure?: (code: string, cause: unknown) => void;
  /** Wraps the store that makes decisions, below everything that decides without it. */
  readonly wrap?: (store: Store) => Store;
}

type Tuning = "storeTimeoutMs" | "cachedRead" | "leaseBase" | "leasePrefetchAt" | "leaseGiveBackEveryMs";
type StoreSettings = Pick<Settings, SharedStoreName | "nodes"> & Partial<Pick<Settings, Tuning>>;

/** Peeked, so it charges and stores nothing. */
const PROBE: Operation = { rule: { name: "probe", limit: tokenBucket("1/s") }, key: "headgate", cost: 1 };
/**
 * How long a check waits for another worker. A worker that ended is noticed at once, so this is only for one that hangs;
 * one that is busy should count.
 */
const WORKER_TIMEOUT_MS = 2_000;
/** How many keys are tried to find one on each server. */
const PROBE_KEYS = 10_000;

/** Opens the store in the settings: one that nodes share, or the memory of this process. */
export async function openStores(
  settings: StoreSettings,
  hooks: StoreHooks = {},
  clock: Clock = new SystemClock(),
  mesh?: WorkerMesh,
): Promise<Stores> {
  const [configured] = configuredStores(settings);
  if (configured !== undefined) {
    const { store, amongNodes } = await configured.open(configured.address);
    return shared(store, settings, hooks, amongNodes);
  }
  return mesh === undefined ? inMemory(clock, hooks) : inWorkers(mesh, clock, hooks);
}

/** One store that decides for rules of every consistency. It has no shares to join. */
function forEveryConsistency(store: Store): Pick<Stores, "strict" | "cached" | "leased" | "split" | "join"> {
  return { strict: store, cached: store, leased: store, split: store, join: async () => {} };
}

/** With one process, all consistencies are the same memory store, which never fails. */
function inMemory(clock: Clock, { wrap = asIs }: StoreHooks): Stores {
  const memory = new MemoryStore({ clock });
  const store = wrap(memory);
  return {
    ...forEveryConsistency(store),
    canReserve: true,
    mayHold: (rule) => memory.has(rule),
    clock,
    stats: { memoryKeys: () => keysIn(memory) },
    ready: async () => {},
    probe: async () => true,
    close: async () => {},
  };
}

/** With several workers, each counts a part of the keys in its memory. */
function inWorkers(mesh: WorkerMesh, clock: Clock, hooks: StoreHooks): Stores {
  const memory = new MemoryStore({ clock });
  const { wrap = asIs, ...others } = hooks;
  const owned = new OwnedMemory(memory, mesh, { deadlineMs: WORKER_TIMEOUT_MS, ...others });
  mesh.duties.store = memory;
  const store = wrap(owned);
  return {
    ...forEveryConsistency(store),
    canReserve: false,
    shared: store,
    clock,
    nodes: owned.nodes,
    stats: { memoryKeys: () => keysIn(memory), resilient: owned.remote.stats },
    ready: () => mesh.ready(),
    probe: () => probed(owned),
    close: () => owned.remote.close(),
  };
}

function asIs(store: Store): Store {
  return store;
}

function keysIn({ stats }: MemoryStore): number {
  return Object.values(stats).reduce((sum, { keys }) => sum + keys, 0);
}

function shared(
  store: Store & { readonly clock: Clock },
  settings: StoreSettings,
  hooks: StoreHooks,
  amongNodes?: SplitAmongNodes,
): Stores {
  const { nodes, storeTimeoutMs = fields.storeTimeoutMs.initial } = settings;
  const { wrap = asIs, ...reports } = hooks;
  const strict = resilient(wrap(store), { deadlineMs: storeTimeoutMs, nodes, ...reports });
  const unclosed = new UnclosedStore(strict);
  const cachedStore = cached(unclosed, { read: settings.cachedRead });
  const leasedStore = leased(unclosed, {
    nodes,
    base: settings.leaseBase,
    prefetchAt: settings.leasePrefetchAt,
    giveBackEveryMs: settings.leaseGiveBackEveryMs,
  });
  // If the store cannot split, it decides such rules itself.
  const shares = amongNodes && resilient(amongNodes, { deadlineMs: storeTimeoutMs, nodes, ...reports });
  return {
    strict,
    cached: cachedStore,
    leased: leasedStore,
    split: shares ?? strict,
    ...(shares && { join: () => shares.ready() }),
    canReserve: store.journal !== undefined,
    shared: unclosed,
    clock: store.clock,
    ...(strict.nodes && { nodes: strict.nodes }),
    stats: {
      resilient: strict.stats,
      cached: () => cachedStore.stats,
      leased: () => leasedStore.stats,
      split: () => amongNodes?.stats,
    },
    ready: () => strict.ready(),
    probe: () => probed(strict),
    async close() {
      await Promise.all([cachedStore.close(), leasedStore.close(), shares?.close()]);
      await strict.close();
    },
  };
}

/** Whether all servers of a resilient store answer. */
async function probed(store: Store): Promise<boolean> {
  const answers = await Promise.all(probesOf(store).map((operation) => store.apply("peek", [operation])));
  return answers.every(([{ degraded }]) => !degraded);
}

/** One operation per server of the store. */
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

/** A store that several wrappers share: none of them closes it. */
class UnclosedStore extends StoreWrapper {
  override async close(): Promise<void> {}
}
