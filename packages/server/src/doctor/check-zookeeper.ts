import { openStores } from "../checks/counter-stores.ts";
import type { Settings } from "../config/settings.ts";
import { type Finding, fail, messageOf, ok } from "./finding.ts";

export async function zookeeperFinding(settings: Settings): Promise<Finding> {
  const stores = await openStores(settings, { onDegraded: () => {} });
  try {
    await stores.ready();
    return ok("zookeeper", "answers");
  } catch (error) {
    return fail("zookeeper", `${messageOf(error)}: check that it is running and that --zookeeper is right`);
  } finally {
    await stores.close();
  }
}
