import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Address, Settings } from "../config/settings.ts";
import { PROBLEM_TYPE, problemBody } from "../transports/rest/problem.ts";
import { listening } from "./listen.ts";
import { tlsOptions } from "./tls.ts";

const RETRY_SECONDS = 1;

/** Responds instead of a node that cannot start yet. */
export interface WaitingListener {
  /** The address, with the port chosen by the system if none was requested. */
  readonly address: Address;
  /** Frees the address for the node. */
  close(): Promise<void>;
}

/**
 * Listens while the node waits for `waiting`: `/healthz` is 200, because restarting the process would not help, and
 * everything else is 503, so that load balancers send requests elsewhere.
 */
export async function listenWhileWaiting(
  { http, tls }: Pick<Settings, "http" | "tls">,
  waiting: readonly string[],
): Promise<WaitingListener> {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    // The next request should reach the node, which may be up by then.
    response.setHeader("connection", "close").setHeader("cache-control", "no-store");
    const path = request.url?.split("?", 1)[0];
    if (path === "/healthz" && (request.method === "GET" || request.method === "HEAD")) {
      response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end('{"status":"ok"}');
      return;
    }
    const body = problemBody("not_ready", `the node waits for ${waiting.join(", ")}`, { waiting });
    response
      .writeHead(body.status, { "content-type": PROBLEM_TYPE, "retry-after": String(RETRY_SECONDS) })
      .end(JSON.stringify(body));
  };
  const server = tls === undefined ? createServer(answer) : createSecureServer(tlsOptions(tls), answer);
  await listening(
    "--http",
    http,
    () =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen({ host: http.host, port: http.port }, () => {
          server.off("error", reject);
          resolve();
        });
      }),
  );
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: http.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
