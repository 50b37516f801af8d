import type { Context } from "hono";
import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { platformPeer } from "../shared/platform.ts";

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (c: Context, options?: AddressOptions) => string | undefined = clientAddressOf(() => ({
  peer: (c) => platformPeer(c.req.raw, c.env),
  header: (c, name) => c.req.header(name),
}));
