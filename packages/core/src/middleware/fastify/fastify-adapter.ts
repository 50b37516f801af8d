import type { FastifyRequest } from "fastify";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";
import { believesAll, trustsProxy } from "./fastify-trust.ts";

/** The request as it arrived; the option `proxies` determines which proxies are trusted. */
export const asItCame: RequestAdapter<FastifyRequest> = {
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
export const asFastifySees: RequestAdapter<FastifyRequest> = {
  ...asItCame,
  peer: (request) => (trustsProxy(request) ? request.ip : asItCame.peer(request)),
  connection: asItCame.peer,
  believesAll,
};
