import type { ServerModule } from "./servers/server.ts";

interface Framework {
  readonly title: string;
  /** A popular limiter for this framework. */
  readonly peer: string;
  /** Called only in the process that runs the server. */
  readonly load: () => Promise<ServerModule>;
}

export const frameworks: Readonly<Record<string, Framework>> = {
  express: { title: "Express 5", peer: "express-rate-limit", load: () => import("./servers/express.ts") },
  fastify: { title: "Fastify 5", peer: "@fastify/rate-limit", load: () => import("./servers/fastify.ts") },
  hono: { title: "Hono on Node", peer: "hono-rate-limiter", load: () => import("./servers/hono.ts") },
};
