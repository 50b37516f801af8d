import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";
import { closeServer } from "./framework.ts";

const servers: Server[] = [];

/** To be called in a `describe`: the servers that were started are closed after each of its tests. */
export function closesServers(): void {
  afterEach(async () => {
    await Promise.all(servers.splice(0).map(closeServer));
  });
}

/** The address of a server that is about to listen. */
export async function started(server: Server): Promise<string> {
  servers.push(server);
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
