import { Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

/** How long a connection is left to a client that may be about to use it. */
const IDLE_MS = 1_000;
const LOOK_MS = 50;

/**
 * Accepts no new connection, answers what comes on those there are, and closes each: with its next answer, which is
 * to say so, or once nothing has come on it for a while. Who takes too long is cut.
 */
export async function drained(rest: FastifyInstance, graceMs: number): Promise<void> {
  const { server } = rest;
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  // Not by the method of HTTP servers: that closes idle connections at once, whatever is on its way to them.
  const gone = new Promise<void>((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
  await Promise.race([gone, delay(IDLE_MS, undefined, { ref: false })]);
  const idle = setInterval(() => server.closeIdleConnections(), LOOK_MS);
  try {
    await rest.close();
  } finally {
    clearTimeout(cut);
    clearInterval(idle);
  }
}
