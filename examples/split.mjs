// Two replicas share a limit: each enforces half of it in memory, and Redis only keeps track of the replicas.
import cluster from "node:cluster";
import express from "express";
import { rateLimiter, resilient, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";
import { redisOptions, split } from "headgate/redis";
import { Redis } from "ioredis";

const REPLICAS = 2;

if (cluster.isPrimary) {
  for (let i = 0; i < REPLICAS; i += 1) cluster.fork();
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    listening += 1;
    if (listening < REPLICAS) return;
    const url = `http://127.0.0.1:${port}`;
    console.log(
      `listening on ${url}\ntry: curl -i ${url}/ nine times: each replica allows 4 of the 8 requests per hour`,
    );
  });
} else {
  const client = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379", redisOptions);
  client.on("error", (error) => console.error(`Redis: ${error.message}`));
  const store = split(client, { group: "example" });
  const limiter = rateLimiter({ service: tokenBucket("8/h") }, { store: resilient(store, { onError: "deny" }) });
  await store.ready();

  const app = express();
  const sameKey = () => "service";
  app.get("/", rateLimit(limiter, { rules: "service", by: sameKey }), (_request, response) => {
    response.send(`replica ${store.stats.rank} of ${store.stats.replicas}\n`);
  });
  app.listen(process.env.PORT ?? 0, "127.0.0.1");
}
