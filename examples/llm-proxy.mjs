// A proxy in front of a language model: per team four streams at a time, 100,000 tokens per minute, and a monthly budget
// in micro-dollars. Clients that disconnect pay for what they received, and so does a proxy that is killed.
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { concurrency, fixedWindow, rateLimiter, tokenBucket } from "headgate";
import { RedisStore } from "headgate/redis";
import { Hono } from "hono";

const MAX_TOKENS = 1_000;
const MICRO_DOLLARS_PER_TOKEN = 3;

const store = new RedisStore(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");
const limiter = rateLimiter(
  {
    streams: concurrency(4),
    tokens: tokenBucket("100000/m"),
    spend: fixedWindow("25000000/month", { timeZone: "Europe/Berlin" }),
  },
  { store },
);

const app = new Hono();

app.post("/chat", async (c) => {
  const team = c.req.header("x-team") ?? "nobody";
  const reservation = await limiter.reserve(
    [
      { rule: "streams", key: team },
      { rule: "tokens", key: team, cost: MAX_TOKENS },
      { rule: "spend", key: team, cost: MAX_TOKENS * MICRO_DOLLARS_PER_TOKEN },
    ],
    { forMs: Number(process.env.FOR_MS ?? 60_000), maxWaitMs: Number(process.env.MAX_WAIT_MS ?? 2_000) },
  );
  if (!reservation.allowed) {
    const seconds = Math.ceil(reservation.verdict.retryAfterMs / 1000);
    return c.json({ deniedBy: reservation.deniedBy }, 429, { "retry-after": String(seconds) });
  }
  const stop = new AbortController();
  let tokens = 0;
  const finish = async () => {
    stop.abort();
    // Fails only if the proxy was frozen for so long that another process has settled what it had spent.
    await reservation.settle({ tokens, spend: tokens * MICRO_DOLLARS_PER_TOKEN }).catch(() => {});
  };
  reservation.signal.addEventListener("abort", () => stop.abort());
  const parts = completion(await c.req.text(), stop.signal);
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next().catch(() => ({ done: true }));
      // What was reserved is all that a client can get.
      if (done || !reservation.spend("tokens", value.tokens)) {
        await finish();
        controller.close();
        return;
      }
      tokens += value.tokens;
      reservation.spend("spend", value.tokens * MICRO_DOLLARS_PER_TOKEN);
      controller.enqueue(new TextEncoder().encode(value.text));
    },
    // The client has left.
    cancel: finish,
  });
  return c.body(body);
});

app.get("/usage/:team", async (c) => {
  const { limit, remaining } = await limiter.peek("spend", c.req.param("team"));
  const { inUse } = await limiter.peek("streams", c.req.param("team"));
  return c.json({ spent: limit - remaining, streams: inUse });
});

/** The parts of a completion, as the model streams them. */
async function* completion(prompt, signal) {
  const response = await fetch(process.env.UPSTREAM ?? (await fakeModel()), { method: "POST", body: prompt, signal });
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

let model;

/** Stands in for a model: streams a hundred parts of five tokens each. */
function fakeModel() {
  model ??= new Promise((resolve) => {
    const server = createServer(async (request, response) => {
      request.resume();
      for (let i = 0; i < 100 && !response.destroyed; i += 1) {
        response.write(`${JSON.stringify({ text: "Five tokens of an answer. ", tokens: 5 })}\n`);
        await setTimeout(50);
      }
      response.end();
    });
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`));
  });
  return model;
}

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 0), hostname: "127.0.0.1" }, ({ port }) => {
  const url = `http://127.0.0.1:${port}`;
  console.log(`listening on ${url}\ntry: curl -N -H 'x-team: a' -d hello ${url}/chat, then curl ${url}/usage/a`);
});
