import { isIPv4, isIPv6 } from "node:net";
import { HeadgateError } from "headgate";
import { listenersOf } from "./listeners.ts";
import type { Settings } from "./settings.ts";

/** Whether only this machine can connect to the address. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return host === "::1";
  return host === "localhost";
}

/** Rejects settings that would expose API keys in plain text on a network, unless the operator has confirmed it. */
export function rejectExposure(settings: Settings): void {
  if (settings.tls !== undefined || settings.insecure) return;
  for (const { flag, address } of listenersOf(settings)) {
    if (address.path !== undefined || isLoopback(address.host)) continue;
    throw new HeadgateError(
      "HG_BAD_OPTION",
      flag,
      `other machines can reach ${address.host}, and API keys would be sent in the clear: ` +
        "give --tls-cert and --tls-key, or --insecure if a proxy in front of Headgate terminates TLS",
    );
  }
}
