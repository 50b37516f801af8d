// A server of its own whose requests reserve, and wait for the test to send their cost.
import { createServer } from "node:http";
import { rateLimiter } from "../../dist/esm/index.js";
import { limitFromSpec } from "../../dist/esm/limits/spec.js";
import { rateLimit } from "../../dist/esm/middleware/express.js";
import { RedisStore } from "../../dist/esm/redis.js";

const [url, prefix, specs, options] = process.argv.slice(2);
const rules = Object.fromEntries(Object.entries(JSON.parse(specs)).map(([name, spec]) => [name, limitFromSpec(spec)]));
const store = new RedisStore(url, { prefix, timeoutMs: 60_000 });
const limit = rateLimit(rateLimiter(rules, { store }), JSON.parse(options));

/** By their paths. */
const waiting = new Map();

const server = createServer((request, response) => {
  limit(request, response, () => {
    waiting.set(request.url, async (cost) => {
      await request.rateLimit.settle(cost);
      response.end();
    });
    process.send({ reserved: request.url });
  });
});
process.on("message", ({ path, cost }) => waiting.get(path)(cost));
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
