// Two processes share one exact limit through Redis. If Redis fails, each of them enforces half of it.
import cluster from "node:cluster";
import express from "express";
import { rateLimiter, resilient, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";
import { RedisStore } from "headgate/redis";

const PROCESSES = 2;

if (cluster.isPrimary) {
  for (let i = 0; i < PROCESSES; i += 1) cluster.fork();
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    listening += 1;
    if (listening < PROCESSES) return;
    const url = `http://127.0.0.1:${port}`;
    console.log(
      `listening on ${url}\ntry: curl -i ${url}/ seven times: both processes answer, and 6 requests per minute are allowed`,
    );
  });
} else {
  const redis = new RedisStore(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");
  const store = resilient(redis, { nodes: PROCESSES, onError: "local" });
  const limiter = rateLimiter({ api: tokenBucket("6/m") }, { store });
  // Connects before the first request. If Redis is down, start anyway.
  await redis.ready().catch(() => {});

  const app = express();
  app.get("/", rateLimit(limiter, "api"), (request, response) => {
    const { remaining, source } = request.rateLimit.decided;
    response.send(`process ${process.pid}: ${Math.floor(remaining)} more, decided by the ${source}\n`);
  });
  app.listen(process.env.PORT ?? 0, "127.0.0.1");
}
