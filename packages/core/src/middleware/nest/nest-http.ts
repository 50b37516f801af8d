import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type AddressOptions, clientAddressOf } from "../address/client-address.ts";
import { believesAll, trustsProxy } from "../fastify/fastify-trust.ts";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";

/** A request as both platforms show it: Express hands on Node's own, Fastify wraps it. */
export interface NestRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** What the platforms, and those who authenticate, add to it. */
interface Seen extends NestRequest {
  readonly user?: unknown;
  readonly ip?: string;
  /** Express: where its settings are. */
  readonly app?: { enabled(setting: string): boolean; get(setting: string): unknown };
  /** Fastify: the instance that the route is in. */
  readonly server?: object;
}

/** A response likewise. */
export type NestResponse = ServerResponse | FastifyReply;

interface FastifyReply {
  readonly raw: ServerResponse;
  send(body: string): unknown;
}

/** A request as it came over the connection: whose word about the client is taken is for the option `proxies`. */
const asItCame: RequestAdapter<Seen> = {
  peer: ({ socket }) => socket.remoteAddress,
  header({ headers }, name) {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: ({ user }) => userId(user),
};

/** If the platform was told whose word is taken, it knows the client. */
const asThePlatformSees: RequestAdapter<Seen> = {
  ...asItCame,
  peer: (request) => (platformTrusts(request) ? request.ip : asItCame.peer(request)),
  connection: asItCame.peer,
  believesAll: (request) =>
    request.app === undefined ? believesAll(request) : request.app.get("trust proxy") === true,
};

export function faceOf(proxies: unknown): RequestAdapter<Seen> {
  return proxies === undefined ? asThePlatformSees : asItCame;
}

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (request: NestRequest, options?: AddressOptions) => string | undefined = clientAddressOf(
  ({ proxies }) => faceOf(proxies),
);

function platformTrusts(request: Seen): boolean {
  return request.app === undefined ? trustsProxy(request) : request.app.enabled("trust proxy");
}

/** The response of Node that lies under that of a platform: both send the headers that are set there. */
export function rawOf(response: NestResponse): ServerResponse {
  return "raw" in response ? response.raw : response;
}

/** Ends a response whose status and headers are set. */
export function end(response: NestResponse, body: string): void {
  if ("raw" in response) response.send(body);
  else response.end(body);
}
