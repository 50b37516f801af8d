// Hono on Node: 5 requests per minute, counted by API key if there is one and by address otherwise.
import { serve } from "@hono/node-server";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

const limiter = rateLimiter({ api: tokenBucket("5/m") });

const app = new Hono();
app.use(rateLimit(limiter, { rules: "api", by: { header: "x-api-key" } }));
app.get("/", (c) => c.text(`hello, ${Math.floor(c.get("rateLimit").decided.remaining)} more\n`));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 0), hostname: "127.0.0.1" }, ({ port }) => {
  const url = `http://127.0.0.1:${port}`;
  console.log(`listening on ${url}\ntry: curl -i ${url}/ six times, then curl -i -H 'x-api-key: ann' ${url}/`);
});
