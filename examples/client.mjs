// A client that follows the rate limit headers of a server: ten calls at once to a server that allows three per second.
import { once } from "node:events";
import express from "express";
import { gcra, rateLimiter } from "headgate";
import { pacedFetch, parseRateLimitHeaders } from "headgate/client";
import { rateLimit } from "headgate/express";

const limiter = rateLimiter({ api: gcra("3/s") });
const app = express();
app.get("/items/:id", rateLimit(limiter, "api"), (request, response) => {
  response.send(`item ${request.params.id}`);
});
const server = app.listen(process.env.PORT ?? 0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;
console.log(`listening on ${url}\ntry: curl -i ${url}/items/1, while the calls below are in progress`);

const start = performance.now();
const fetch = pacedFetch({
  onRetry: ({ attempt, waitMs }) => console.log(`denied: retry ${attempt} in ${Math.round(waitMs)} ms`),
});
const calls = Array.from({ length: 10 }, async (_, id) => {
  const response = await fetch(`${url}/items/${id}`);
  const { limits } = parseRateLimitHeaders(response.headers);
  const at = Math.round(performance.now() - start);
  console.log(`${at} ms: ${response.status} ${await response.text()}, ${limits[0].remaining} left`);
  return response.ok;
});
const answers = await Promise.all(calls);
console.log(`${answers.filter(Boolean).length} of ${answers.length} calls succeeded`);
server.close();
