import type { IncomingMessage } from "node:http";
import type { RequestAdapter } from "../request-adapter.ts";
import { userId } from "../shared/authenticated-user.ts";

/** What Express and similar frameworks add to a request of `node:http`. */
interface Seen {
  readonly ip?: string;
  readonly user?: unknown;
  readonly app?: { enabled(setting: string): boolean; get?(setting: string): unknown };
}

/** The request as it arrived; the option `proxies` determines which proxies are trusted. */
export const connectionAdapter: RequestAdapter<IncomingMessage> = {
  peer: (request) => request.socket.remoteAddress,
  header(request, name) {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: (request) => userId((request as Seen).user),
};

/**
 * The request as Express interprets it: if the application sets `trust proxy`, `request.ip` is the client.
 */
export const expressAdapter: RequestAdapter<IncomingMessage> = {
  ...connectionAdapter,
  peer: (request) => (trustsProxy(request) ? (request as Seen).ip : connectionAdapter.peer(request)),
  connection: connectionAdapter.peer,
  trustsAll: (request) => (request as Seen).app?.get?.("trust proxy") === true,
};

function trustsProxy(request: IncomingMessage): boolean {
  return (request as Seen).app?.enabled("trust proxy") ?? false;
}
