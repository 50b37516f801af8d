import type { Clock, Store } from "headgate";
import type { Settings } from "../config/settings.ts";
import type { Finding } from "../doctor/finding.ts";
import { SplitAmongNodes } from "./split-among-nodes.ts";

/** A store that several nodes share. */
interface SharedStore {
  readonly store: Store & { readonly clock: Clock };
  /** The same store for limits that are split among the nodes. Absent if it cannot do that. */
  readonly amongNodes?: SplitAmongNodes;
}

interface SharedStoreEntry {
  /** As people write it. */
  readonly label: string;
  readonly open: (address: string) => Promise<SharedStore>;
  /** What `headgate doctor` checks. Default: that the store answers. */
  readonly findings?: (address: string) => Promise<readonly Finding[]>;
}

/** The nodes that share a Redis have the same rules, and are one group. */
const SPLIT_GROUP = "headgate";

/** The stores that nodes can share, by the setting with the address. The client of a store is loaded when it is used. */
const sharedStores = {
  redis: {
    label: "Redis",
    async open(url) {
      const { RedisStore, split } = await import("headgate/redis");
      const store = new RedisStore(url);
      return { store, amongNodes: new SplitAmongNodes(() => split(store, { group: SPLIT_GROUP })) };
    },
    findings: async (url) => (await import("../doctor/check-redis.ts")).redisFindings(url),
  },
  zookeeper: {
    label: "ZooKeeper",
    async open(hosts) {
      const { ZooKeeperStore } = await import("headgate/zookeeper");
      return { store: new ZooKeeperStore(hosts) };
    },
  },
} as const satisfies Readonly<Partial<Record<keyof Settings, SharedStoreEntry>>>;

export type SharedStoreName = keyof typeof sharedStores;

interface ConfiguredStore extends SharedStoreEntry {
  readonly name: SharedStoreName;
  readonly address: string;
}

/** The shared stores in the settings: at most one, once the settings have been read. */
export function configuredStores(settings: Pick<Settings, SharedStoreName>): readonly ConfiguredStore[] {
  return Object.keys(sharedStores)
    .filter(isSharedStoreName)
    .flatMap((name) => {
      const address = settings[name];
      return address === undefined ? [] : [{ ...sharedStores[name], name, address }];
    });
}

function isSharedStoreName(name: string): name is SharedStoreName {
  return Object.hasOwn(sharedStores, name);
}
