// A Request/Response handler, as in Next.js, Bun, Deno and Workers: 5 requests per minute and client. There, the
// platform calls the handler; here node:http does, through @hono/node-server.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/web";

const limiter = rateLimiter({ api: tokenBucket("5/m") });

const limited = rateLimit(limiter, "api");

const handler = limited((_request, admission) => {
  return new Response(`hello, ${Math.floor(admission.decided.remaining)} more\n`);
});

const server = createServer(getRequestListener(handler));
server.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${url}\ntry: curl -i ${url}/ six times`);
});
