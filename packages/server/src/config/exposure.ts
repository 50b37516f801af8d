import { isIPv4, isIPv6 } from "node:net";
import { HeadgateError } from "headgate";
import type { Address, Settings } from "./settings.ts";

/** Whether only this machine can connect there. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return host === "::1";
  return host === "localhost";
}

/** Keys in the clear on a network are everybody's: refused, unless the operator says that he knows. */
export function refuseExposure({ http, grpc, tls, insecure }: Settings): void {
  if (tls !== undefined || insecure) return;
  const addresses: [string, Address | undefined][] = [
    ["--http", http],
    ["--grpc", grpc],
  ];
  for (const [flag, address] of addresses) {
    if (address === undefined || isLoopback(address.host)) continue;
    throw new HeadgateError(
      "HG_BAD_OPTION",
      flag,
      `${address.host} can be reached by others, who would see keys in the clear: ` +
        "give --tls-cert and --tls-key, or --insecure if something in front of Headgate encrypts",
    );
  }
}
