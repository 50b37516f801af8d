import { createServer } from "node:net";

/**
 * A loopback port that is free, as is the one 10,000 above it, where a Redis Cluster node has its bus. Both are below
 * the ports that the system gives to outgoing connections, so that a server that was killed finds its port free again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
