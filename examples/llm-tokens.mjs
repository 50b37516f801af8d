// A token budget: reserves the maximum cost of an answer, and settles the real cost.
import { setTimeout } from "node:timers/promises";
import express from "express";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";

const MAX_ANSWER_TOKENS = 500;
const limiter = rateLimiter({ tokens: tokenBucket("1000/h") });

const budget = rateLimit(limiter, {
  rules: { rule: "tokens", reserve: (request) => tokensIn(promptOf(request)) + MAX_ANSWER_TOKENS },
  by: { header: "x-api-key" },
});

const app = express();
app.use(express.json());

app.post("/chat", budget, async (request, response) => {
  // If this throws, or if the client disconnects before the cost is settled below, the reservation is refunded. With a
  // RedisStore, another process refunds it if this one dies.
  const text = await answer(promptOf(request));
  const tokens = tokensIn(promptOf(request)) + tokensIn(text);
  await request.rateLimit.settle(tokens);
  response.json({ text, tokens });
});

app.post("/chat/stream", budget, async (request, response) => {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  let tokens = tokensIn(promptOf(request));
  try {
    for await (const word of words(promptOf(request), disconnected.signal)) {
      tokens += 1;
      response.write(`${word}\n`);
    }
    response.end();
  } catch (error) {
    if (!disconnected.signal.aborted) throw error;
  } finally {
    // A client that disconnects early pays for what it received. Without this line it would pay the whole reservation.
    await request.rateLimit.settle(tokens);
  }
});

function promptOf(request) {
  return String(request.body?.prompt);
}

function tokensIn(text) {
  return text.split(" ").length;
}

/** Stands in for a model. */
async function answer(prompt) {
  if (prompt === "fail") throw new Error("the model is overloaded");
  return `You said: ${prompt}`;
}

/** Stands in for a model that streams. It stops when the client disconnects. */
async function* words(prompt, signal) {
  for (const word of (await answer(prompt)).split(" ")) {
    yield word;
    await setTimeout(50, undefined, { signal });
  }
}

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const options = `-H 'x-api-key: ann' -H 'content-type: application/json' -d '{"prompt":"good morning"}'`;
  console.log(`listening on ${url}\ntry: curl -i ${options} ${url}/chat`);
});
