import type { Server } from "node:http";
import { type FastifyInstance, fastify } from "fastify";
import { HEADGATE } from "../../suite.ts";
import { HEADERS, HELLO, LIMIT, type Limiters, limiterOf, THREE_HEADERS, WINDOW_MS } from "./server.ts";

type Install = (app: FastifyInstance) => unknown;

const limiters: Limiters<Install> = {
  async [HEADGATE]() {
    const { rateLimitPlugin } = await import("headgate/fastify");
    const { limiter } = await import("./headgate.ts");
    return (app) => app.register(rateLimitPlugin(limiter, "api"));
  },
  async "@fastify/rate-limit"() {
    const { fastifyRateLimit } = await import("@fastify/rate-limit");
    return (app) => app.register(fastifyRateLimit, { max: LIMIT, timeWindow: WINDOW_MS });
  },
  async [THREE_HEADERS]() {
    return (app) =>
      app.addHook("onRequest", (_request, reply, done) => {
        for (const [name, value] of HEADERS) reply.header(name, value);
        done();
      });
  },
};

export async function serve(subject: string): Promise<Server> {
  const app = fastify();
  const install = await limiterOf(limiters, subject);
  // A plugin must be registered before the routes it applies to.
  await install?.(app);
  app.get("/", async () => HELLO);
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server;
}
