import { addressText, type IpAddress, isIpv4, masked, parseAddress } from "../address/ip-address.ts";

export const DEFAULT_SUBNET = 56;

/**
 * The key of an address: IPv4 unchanged, IPv6 by network, so that a client has one quota per network. Anything that is
 * not an address is returned unchanged, including `undefined` from untyped callers.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = DEFAULT_SUBNET): string {
  const address = typeof ip === "string" ? parseAddress(ip) : undefined;
  if (address === undefined) return ip;
  if (isIpv4(address)) return addressText(address, 0);
  if (isCompatible(ip, address)) return addressText(address.slice(6), 0);
  return ipv6Subnet === false ? ip : `${shortest(masked(address, ipv6Subnet))}/${ipv6Subnet}`;
}

/** `::1.2.3.4`, the deprecated notation of an IPv4 address. `::1` has the same prefix, so the dots decide. */
function isCompatible(ip: string, address: IpAddress): boolean {
  const [written] = ip.split("%");
  return written.includes(".") && address.slice(0, 6).every((group) => group === 0);
}

/** The usual notation of an IPv6 address, as in URLs. */
function shortest(address: IpAddress): string {
  const groups = address.map((group) => group.toString(16)).join(":");
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}
