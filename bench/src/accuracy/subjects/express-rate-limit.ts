import { rateLimit } from "express-rate-limit";
import { Redis } from "ioredis";
import { RedisStore } from "rate-limit-redis";
import { KEY, LIMIT, type Place, type Subject, WINDOW_MS } from "../subject.ts";

/** As in the README of rate-limit-redis for ioredis. The middleware is called without a server around it. */
export async function open({ redisUrl }: Place): Promise<Subject> {
  const client = new Redis(redisUrl);
  client.on("error", () => {});
  await client.ping();
  const denied = new WeakMap<object, () => void>();
  const limiter = rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMIT,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    keyGenerator: () => KEY,
    handler: (_request, response) => denied.get(response)?.(),
    store: new RedisStore({
      sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<number>,
    }),
  });
  return {
    check: () =>
      new Promise<boolean>((resolve, reject) => {
        const request = { ip: "192.0.2.1", headers: {}, app: { get: () => false } };
        const response = {
          headersSent: false,
          writableEnded: false,
          setHeader: () => {},
          append: () => {},
          on: () => {},
        };
        denied.set(response, () => resolve(false));
        limiter(request as never, response as never, (error: unknown) => {
          if (error === undefined) resolve(true);
          else reject(error);
        });
      }),
  };
}
