import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { platformPeer } from "../shared/platform.ts";

/** What the platform passed with each request: it contains the address, which is not part of the request. */
export const platforms = new WeakMap<Request, readonly unknown[]>();

const addressOf = clientAddressOf<Request>(() => ({
  peer: (request) => platformPeer(request, platforms.get(request)?.[0]),
  header: ({ headers }, name) => headers.get(name) ?? undefined,
}));

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call. Before `rateLimit` has
 * seen a request, also pass what the platform gives to handlers, such as Bun's server.
 */
export function clientAddress(
  request: Request,
  options?: AddressOptions,
  ...platform: readonly unknown[]
): string | undefined {
  if (platform.length > 0) platforms.set(request, platform);
  return addressOf(request, options);
}
