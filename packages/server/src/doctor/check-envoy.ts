import { readFolder } from "../transports/envoy/envoy-config.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

/** Whether the configuration files for Envoy can be used. */
export async function envoyFindings(folder: string): Promise<readonly Finding[]> {
  try {
    const { domains, limits, warnings } = await readFolder(folder);
    const found = ok("Envoy", `${limits} limits in ${domains.size === 1 ? "one domain" : `${domains.size} domains`}`);
    return [...(limits === 0 ? [] : [found]), ...warnings.map((warning) => warn("Envoy", warning))];
  } catch (error) {
    return [fail("Envoy", messageOf(error))];
  }
}
