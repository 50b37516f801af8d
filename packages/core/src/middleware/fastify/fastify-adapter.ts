import type { FastifyRequest } from "fastify";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";
import { trustsAll, trustsProxy } from "./fastify-trust.ts";

/** The request as it arrived; the option `proxies` determines which proxies are trusted. */
export const connectionAdapter: RequestAdapter<FastifyRequest> = {
  peer: ({ raw }) => raw.socket.remoteAddress,
  header({ headers }, name) {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: (request) => userId("user" in request ? request.user : undefined),
};

/**
 * The request as Fastify interprets it: if the application sets `trustProxy`, `request.ip` is the client.
 */
export const fastifyAdapter: RequestAdapter<FastifyRequest> = {
  ...connectionAdapter,
  peer: (request) => (trustsProxy(request) ? request.ip : connectionAdapter.peer(request)),
  connection: connectionAdapter.peer,
  trustsAll,
};
