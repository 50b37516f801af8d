import type { FastifyRequest } from "fastify";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";
import { believesAll, trustsProxy } from "./fastify-trust.ts";

/** A request as it came over the connection: whose word about the client is taken is for the option `proxies`. */
export const asItCame: RequestAdapter<FastifyRequest> = {
  peer: ({ raw }) => raw.socket.remoteAddress,
  header({ headers }, name) {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: (request) => userId("user" in request ? request.user : undefined),
};

/**
 * A request as Fastify sees it: if the application says by `trustProxy` whose word is taken, `request.ip` is the
 * client.
 */
export const asFastifySees: RequestAdapter<FastifyRequest> = {
  ...asItCame,
  peer: (request) => (trustsProxy(request) ? request.ip : asItCame.peer(request)),
  connection: asItCame.peer,
  believesAll,
};
