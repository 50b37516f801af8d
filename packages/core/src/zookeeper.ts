export type { ZooKeeperStoreOptions } from "./stores/zookeeper/zookeeper-options.ts";
export { type ZooKeeperStats, ZooKeeperStore } from "./stores/zookeeper/zookeeper-store.ts";
