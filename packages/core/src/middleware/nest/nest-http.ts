import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { trustsAll, trustsProxy } from "../fastify/fastify-trust.ts";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";

/** A request on both platforms: Express passes Node's own, Fastify wraps it. */
export interface NestRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Properties that the platforms and authentication add. */
interface Seen extends NestRequest {
  readonly user?: unknown;
  readonly ip?: string;
  /** Express: the application with its settings. */
  readonly app?: { enabled(setting: string): boolean; get(setting: string): unknown };
  /** Fastify: the instance of the route. */
  readonly server?: object;
}

/** A response on both platforms. */
export type NestResponse = ServerResponse | FastifyReply;

interface FastifyReply {
  readonly raw: ServerResponse;
  send(body: string): unknown;
}

/** The request as it arrived; the option `proxies` determines which proxies are trusted. */
const connectionAdapter: RequestAdapter<Seen> = {
  peer: ({ socket }) => socket.remoteAddress,
  header({ headers }, name) {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: ({ user }) => userId(user),
};

/** If the platform is configured to trust proxies, it determines the client. */
const platformAdapter: RequestAdapter<Seen> = {
  ...connectionAdapter,
  peer: (request) => (platformTrusts(request) ? request.ip : connectionAdapter.peer(request)),
  connection: connectionAdapter.peer,
  trustsAll: (request) => (request.app === undefined ? trustsAll(request) : request.app.get("trust proxy") === true),
};

export function adapterOf(proxies: unknown): RequestAdapter<Seen> {
  return proxies === undefined ? platformAdapter : connectionAdapter;
}

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (request: NestRequest, options?: AddressOptions) => string | undefined = clientAddressOf(
  ({ proxies }) => adapterOf(proxies),
);

function platformTrusts(request: Seen): boolean {
  return request.app === undefined ? trustsProxy(request) : request.app.enabled("trust proxy");
}

/** Node's response underneath that of the platform: both send the headers set there. */
export function rawOf(response: NestResponse): ServerResponse {
  return "raw" in response ? response.raw : response;
}

/** Ends a response whose status and headers are set. */
export function end(response: NestResponse, body: string): void {
  if ("raw" in response) response.send(body);
  else response.end(body);
}
