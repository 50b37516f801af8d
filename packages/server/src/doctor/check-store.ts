import { openStores } from "../checks/counter-stores.ts";
import { configuredStores } from "../checks/shared-stores.ts";
import type { Settings } from "../config/settings.ts";
import { type Finding, fail, messageOf, ok } from "./finding.ts";

/** Checks the store that the nodes share, if there is one. */
export async function storeFindings(settings: Settings): Promise<readonly Finding[]> {
  const [configured] = configuredStores(settings);
  if (configured === undefined) return [];
  const { name, address, findings } = configured;
  if (findings !== undefined) return findings(address);
  const stores = await openStores(settings, { onDegraded: () => {} });
  try {
    await stores.ready();
    return [ok(name, "answers")];
  } catch (error) {
    return [fail(name, `${messageOf(error)}: check that it is running and that --${name} is right`)];
  } finally {
    await stores.close();
  }
}
