// Most requests do not wait for Redis: it is updated a few milliseconds later, and clients known to be over the limit
// are denied locally.
import express from "express";
import { cached, rateLimiter, slidingWindow } from "headgate";
import { rateLimit } from "headgate/express";
import { RedisStore } from "headgate/redis";

const store = cached(new RedisStore(process.env.REDIS_URL ?? "redis://127.0.0.1:6379"), { flushMs: 10 });
const limiter = rateLimiter({ api: slidingWindow("5/m") }, { store });

const app = express();
app.get("/", rateLimit(limiter, "api"), (request, response) => {
  response.send(`hello, decided by the ${request.rateLimit.decided.source}\n`);
});
app.get("/stats", (_request, response) => {
  response.json(store.stats);
});

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${url}\ntry: curl -i ${url}/ six times, then curl ${url}/stats`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    // Writes what is pending. Without this, it would be lost.
    await store.close();
  });
}
