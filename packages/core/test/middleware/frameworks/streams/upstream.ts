import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { closeServer } from "../framework.ts";

/** A server that handlers fetch from, such as a model's API. It answers one request, step by step, as the test says. */
export interface Upstream {
  readonly url: string;
  /** Resolves when the handler's request has arrived. */
  readonly asked: Promise<void>;
  /** Whether the handler has hung up, or the response is complete. */
  readonly isClosed: () => boolean;
  begin(): Promise<void>;
  sendByte(): Promise<void>;
  end(): Promise<void>;
}

export async function startUpstream(): Promise<Upstream> {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => closeServer(server));
  let closed = false;
  const response = new Promise<ServerResponse>((resolve) => {
    server.once("request", (_request, response) => {
      response.once("close", () => {
        closed = true;
      });
      resolve(response);
    });
  });
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: response.then(() => {}),
    isClosed: () => closed,
    begin: async () => void (await response).writeHead(200, { "content-type": "text/plain" }).flushHeaders(),
    sendByte: async () => void (await response).write("x"),
    end: async () => void (await response).end(),
  };
}
