// A token budget: the most that an answer can cost is reserved, and what it did cost is settled.
import { setTimeout } from "node:timers/promises";
import express from "express";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";

const MOST_IN_AN_ANSWER = 500;
const limiter = rateLimiter({ tokens: tokenBucket("1000/h") });

const budget = rateLimit(limiter, {
  rules: { rule: "tokens", reserve: (request) => tokensIn(promptOf(request)) + MOST_IN_AN_ANSWER },
  by: { header: "x-api-key" },
});

const app = express();
app.use(express.json());

app.post("/chat", budget, async (request, response) => {
  // If this throws, everything that was reserved is given back. If the client leaves, it is given back until the
  // cost is settled below. With a RedisStore, another process gives it back if this one dies.
  const text = await answer(promptOf(request));
  const tokens = tokensIn(promptOf(request)) + tokensIn(text);
  await request.rateLimit.settle(tokens);
  response.json({ text, tokens });
});

app.post("/chat/stream", budget, async (request, response) => {
  const left = new AbortController();
  response.once("close", () => left.abort());
  let tokens = tokensIn(promptOf(request));
  try {
    for await (const word of words(promptOf(request), left.signal)) {
      tokens += 1;
      response.write(`${word}\n`);
    }
    response.end();
  } catch (error) {
    if (!left.signal.aborted) throw error;
  } finally {
    // A client that leaves early pays for what it got. Without this line it would pay all that was reserved.
    await request.rateLimit.settle(tokens);
  }
});

function promptOf(request) {
  return String(request.body?.prompt);
}

function tokensIn(text) {
  return text.split(" ").length;
}

/** Stands for the model. */
async function answer(prompt) {
  if (prompt === "fail") throw new Error("the model is overloaded");
  return `You said: ${prompt}`;
}

/** Stands for a model that streams. It stops when the client leaves. */
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
