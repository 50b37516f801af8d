/** What a request of Fastify tells of `trustProxy`. */
interface Trusting {
  readonly server?: object;
  /** The addresses that the request came through; only there if `trustProxy` is set. */
  readonly ips?: readonly (string | undefined)[];
}

export function trustsProxy(request: object): boolean {
  return "ips" in request;
}

/** Addresses that nobody has (RFC 5737), of more hops than anybody's proxies. */
const STRANGERS = new Array(8).fill("192.0.2.1, 198.51.100.1, 203.0.113.1").join(", ");
const HOPS = STRANGERS.split(",").length;

const servers = new WeakMap<object, boolean>();

/**
 * Whether `trustProxy` takes everybody's word. No option of a running server tells, so it is shown a request that came
 * through strangers only; once for each server.
 */
export function believesAll(request: Trusting): boolean {
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
