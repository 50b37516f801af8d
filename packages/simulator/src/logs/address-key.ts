import { addressText, parseAddress } from "headgate/http";

/** As in the middleware and the service: an IPv6 client controls the whole prefix. */
const IPV6_PREFIX = 64;

/** The key of a client address, which may have a port. All addresses of an IPv6 prefix are one key. */
export function addressKey(text: string): string {
  if (!text.includes(":")) return text;
  const [, host = text] = /^\[(.*)\](?::\d+)?$/.exec(text) ?? /^([^:]+):\d+$/.exec(text) ?? [];
  const address = parseAddress(host);
  return address === undefined ? host : addressText(address, IPV6_PREFIX);
}
