// Fastify: 5 requests per minute and client, and 2 logins per minute.
import Fastify from "fastify";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/fastify";

const limiter = rateLimiter({ api: tokenBucket("5/m"), login: tokenBucket("2/m") });

const app = Fastify();
app.get("/", { onRequest: rateLimit(limiter, "api") }, async (request) => {
  return `hello, ${Math.floor(request.rateLimit.decided.remaining)} more\n`;
});
app.post("/login", { onRequest: rateLimit(limiter, ["api", "login"]) }, async () => "welcome\n");

const url = await app.listen({ port: Number(process.env.PORT ?? 0), host: "127.0.0.1" });
console.log(`listening on ${url}\ntry: curl -i ${url}/ six times, curl -i -X POST ${url}/login three times`);
