// A budget of tokens: what an answer may cost is reserved, and what it did cost is settled.
import express from "express";
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";

const MOST_IN_AN_ANSWER = 500;
const limiter = rateLimiter({ tokens: tokenBucket("1000/h") });

const app = express();
app.use(express.json());
app.post(
  "/chat",
  rateLimit(limiter, {
    rules: { rule: "tokens", reserve: (request) => tokensIn(promptOf(request)) + MOST_IN_AN_ANSWER },
    by: { header: "x-api-key" },
  }),
  async (request, response) => {
    // If this throws, or the client leaves, all that was reserved is given back; with a RedisStore, also if this
    // process dies: another one does it.
    const text = await answer(promptOf(request));
    const tokens = tokensIn(promptOf(request)) + tokensIn(text);
    await request.rateLimit.settle(tokens);
    response.json({ text, tokens });
  },
);

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

const server = app.listen(process.env.PORT ?? 0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const options = `-H 'x-api-key: ann' -H 'content-type: application/json' -d '{"prompt":"good morning"}'`;
  console.log(`listening on ${url}\ntry: curl -i ${options} ${url}/chat`);
});
