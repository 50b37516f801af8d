import { Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

/** How long an idle connection is kept for a client that may be about to use it. */
const IDLE_MS = 1_000;
const LOOK_MS = 50;

/**
 * Accepts no new connections, serves requests on existing ones, and closes each: with its next response, which says so,
 * or after it has been idle for a while. Connections that take too long are cut. `onListenerClosed` is called first, to
 * say from when on responses announce it.
 */
export async function drained(
  rest: FastifyInstance,
  graceMs: number,
  onListenerClosed: () => Promise<void> = async () => {},
): Promise<void> {
  const { server } = rest;
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  // Not with the server's own method, which closes idle connections at once even if a request is on its way.
  const gone = new Promise<void>((resolve) => {
    Server.prototype.close.call(server, () => resolve());
  });
  await onListenerClosed();
  await Promise.race([gone, delay(IDLE_MS, undefined, { ref: false })]);
  const idle = setInterval(() => server.closeIdleConnections(), LOOK_MS);
  try {
    await rest.close();
  } finally {
    clearTimeout(cut);
    clearInterval(idle);
  }
}
