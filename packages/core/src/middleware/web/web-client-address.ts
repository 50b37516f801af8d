import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { platformPeer } from "../shared/platform.ts";

/** What the platform gave to the handler of a request: it is not part of the request, and yet has the address. */
export const platforms = new WeakMap<Request, readonly unknown[]>();

const addressOf = clientAddressOf<Request>(() => ({
  peer: (request) => platformPeer(request, platforms.get(request)?.[0]),
  header: ({ headers }, name) => headers.get(name) ?? undefined,
}));

/**
 * The address of the client as a key: IPv4 as it is, IPv6 by its network (`2001:db8:1:2::/64`); `undefined` if it is
 * not known. Takes the address options of `rateLimit`; give the same object with each call.
 * Before `rateLimit` has seen a request, it also needs what the platform gives to handlers, such as Bun's server.
 */
export function clientAddress(
  request: Request,
  options?: AddressOptions,
  ...platform: readonly unknown[]
): string | undefined {
  if (platform.length > 0) platforms.set(request, platform);
  return addressOf(request, options);
}
