import { createServer, type Server } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { HEADGATE } from "../../suite.ts";
import { HEADERS, HELLO, LIMIT, type Limiters, limiterOf, THREE_HEADERS, WINDOW_MS } from "./server.ts";

interface Env {
  readonly Bindings: HttpBindings;
}

const limiters: Limiters<MiddlewareHandler<Env>> = {
  async [HEADGATE]() {
    const { rateLimit } = await import("headgate/hono");
    const { limiter } = await import("./headgate.ts");
    return rateLimit(limiter, "api");
  },
  async "hono-rate-limiter"() {
    const { rateLimiter } = await import("hono-rate-limiter");
    return rateLimiter<Env>({
      limit: LIMIT,
      windowMs: WINDOW_MS,
      // It has no default key.
      keyGenerator: (c) => c.env.incoming.socket.remoteAddress ?? "",
    });
  },
  async [THREE_HEADERS]() {
    return async (c, next) => {
      for (const [name, value] of HEADERS) c.header(name, value);
      await next();
    };
  },
};

export async function serve(subject: string): Promise<Server> {
  const app = new Hono<Env>();
  const limiter = await limiterOf(limiters, subject);
  if (limiter !== undefined) app.use(limiter);
  app.get("/", (c) => c.json(HELLO));
  const server = createServer(getRequestListener(app.fetch));
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}
