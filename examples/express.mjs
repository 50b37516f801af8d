// Express: 5 requests per minute and client, and 2 logins per minute.
import express from "express";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";

const limiter = rateLimiter({ api: tokenBucket("5/m"), login: tokenBucket("2/m") });

const app = express();
app.post("/login", rateLimit(limiter, ["api", "login"]), (_request, response) => {
  response.send("welcome\n");
});
app.get("/", rateLimit(limiter, "api"), (request, response) => {
  response.send(`hello, ${Math.floor(request.rateLimit.decided.remaining)} more\n`);
});

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${url}\ntry: curl -i ${url}/ six times, curl -i -X POST ${url}/login three times`);
});
