import { ManualClock } from "../../src/testing/index.ts";
import { slotConformance } from "./slot-conformance.ts";
import { storeConformance } from "./store-conformance.ts";
import { useZooKeeper } from "./zookeeper/zookeeper.ts";

const zookeeper = useZooKeeper();

for (const conformance of [storeConformance, slotConformance]) {
  conformance("ZooKeeperStore by its own clock", async () => {
    const store = await zookeeper.store();
    return { store, close: () => store.close() };
  });

  conformance("ZooKeeperStore", async () => {
    const clock = new ManualClock(1_700_000_000_123.457);
    const store = await zookeeper.store({ clock });
    return { store, clock, close: () => store.close() };
  });
}
