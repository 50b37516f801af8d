// Koa: 5 requests per minute and client.
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/koa";
import Koa from "koa";

const limiter = rateLimiter({ api: tokenBucket("5/m") });

const app = new Koa();
app.use(rateLimit(limiter, "api"));
app.use((ctx) => {
  ctx.body = `hello, ${Math.floor(ctx.state.rateLimit.decided.remaining)} more\n`;
});

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${url}\ntry: curl -i ${url}/ six times`);
});
