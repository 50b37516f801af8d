import { readFolder } from "../transports/envoy/envoy-config.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

/** Whether the configuration files for Envoy can be used. */
export async function envoyFindings(folder: string): Promise<readonly Finding[]> {
  try {
    const { domains, warnings } = await readFolder(folder);
    const limits = [...domains.values()].reduce((count, root) => count + [...root.limits()].length, 0);
    if (limits === 0) return [warn("Envoy", `${folder} has no limits, so requests pass unless they bring their own`)];
    return [
      ok("Envoy", `${limits} limits in ${domains.size === 1 ? "one domain" : `${domains.size} domains`}`),
      ...warnings.map((warning) => warn("Envoy", warning)),
    ];
  } catch (error) {
    return [fail("Envoy", messageOf(error))];
  }
}
