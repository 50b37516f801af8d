import type { Context } from "hono";
import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { platformPeer } from "../shared/platform.ts";

/**
 * The address of the client as a key: IPv4 as it is, IPv6 by its network (`2001:db8:1:2::/64`); `undefined` if it is
 * not known. Takes the address options of `rateLimit`; give the same object with each call.
 */
export const clientAddress: (c: Context, options?: AddressOptions) => string | undefined = clientAddressOf(() => ({
  peer: (c) => platformPeer(c.req.raw, c.env),
  header: (c, name) => c.req.header(name),
}));
