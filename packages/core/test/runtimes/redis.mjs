// Reserves and settles in the Redis whose address is given, and prints what is left.
import process from "node:process";
import { rateLimiter, tokenBucket } from "headgate";
import { RedisStore } from "headgate/redis";
import { rateLimit } from "headgate/web";

const store = new RedisStore(process.argv[2]);
const limiter = rateLimiter({ tokens: tokenBucket("10/d") }, { store });
const limited = rateLimit(limiter, { rules: { rule: "tokens", reserve: 6 }, by: { header: "x-key" } });
const handler = limited(async (_request, admission) => {
  const { remaining } = await limiter.peek("tokens", "header:ann");
  await admission.settle(2);
  return Response.json({ reserved: Math.round(10 - remaining) });
});

const response = await handler(new Request("http://localhost/", { headers: { "x-key": "ann" } }));
const { reserved } = await response.json();
const { remaining, source } = await limiter.peek("tokens", "header:ann");
console.log(JSON.stringify({ reserved, settled: Math.round(10 - remaining), source }));
process.exit();
