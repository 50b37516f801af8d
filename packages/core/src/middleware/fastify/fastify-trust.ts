/** What a Fastify request reveals about `trustProxy`. */
interface Trusting {
  readonly server?: object;
  /** The addresses the request passed through; present only if `trustProxy` is set. */
  readonly ips?: readonly (string | undefined)[];
}

export function trustsProxy(request: object): boolean {
  return "ips" in request;
}

/** Documentation addresses (RFC 5737), more of them than any chain of proxies. */
const STRANGERS = new Array(8).fill("192.0.2.1, 198.51.100.1, 203.0.113.1").join(", ");
const HOPS = STRANGERS.split(",").length;

const servers = new WeakMap<object, boolean>();

/**
 * Whether `trustProxy` trusts every proxy. A running server does not expose the option, so it is evaluated once per
 * server with a request that passed through unknown addresses only.
 */
export function trustsAll(request: Trusting): boolean {
  const { server } = request;
  if (server === undefined || !trustsProxy(request)) return false;
  let all = servers.get(server);
  if (all === undefined) {
    const raw = { headers: { "x-forwarded-for": STRANGERS }, socket: { remoteAddress: "192.0.2.1" } };
    const { ips }: Trusting = Object.create(request, { raw: { value: raw } });
    all = ips?.length === HOPS + 1;
    servers.set(server, all);
  }
  return all;
}
