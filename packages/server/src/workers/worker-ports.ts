import type { Settings } from "../config/settings.ts";
import type { ReadyNode } from "../runtime/startup-message.ts";
import { type TransportName, transportNames } from "../transports/registry.ts";

/** Ports by the setting of their address. */
export type WorkerPorts = Readonly<Partial<Record<"http" | TransportName, number>>>;

/** The ports that the workers of a node listen on. */
export function portsOf({ url, addresses }: Pick<ReadyNode, "url" | "addresses">): WorkerPorts {
  const found = [["http", url], ...transportNames.map((name) => [name, addresses[name]])].flatMap(([name, text]) => {
    const [, port] = /:(\d+)$/.exec(text ?? "") ?? [];
    return port === undefined ? [] : [[name, Number(port)]];
  });
  return Object.fromEntries(found);
}

/**
 * Settings in which ports that were left to the system are those of earlier workers. The system would choose others if
 * no worker was listening when the next one started.
 */
export function withPorts(settings: Settings, ports: WorkerPorts): Settings {
  const changed = (["http", ...transportNames] as const).flatMap((name) => {
    const { [name]: address } = settings;
    const { [name]: port } = ports;
    return address?.port === 0 && port !== undefined ? [[name, { ...address, port }]] : [];
  });
  return { ...settings, ...Object.fromEntries(changed) };
}
