// The site that each runtime serves in the tests, with the built package as a program would use it.
import { rateLimiter, tokenBucket } from "headgate";
import { pacedFetch } from "headgate/client";
import { rateLimit as honoRateLimit } from "headgate/hono";
import { rateLimit } from "headgate/web";
import { Hono } from "hono";

// All of this is made while the module loads, as in most programs. Workers allow no random values or timers there.
const limiter = rateLimiter({ requests: tokenBucket("2/d"), tokens: tokenBucket("10/d") });
const endings = [];
let asked = 0;
let decidedUntil = 0;
let served = 0;
const by = { header: "x-key" };
const reserving = {
  rules: { rule: "tokens", reserve: 6 },
  by,
  refundOn(ending) {
    endings.push(ending);
    return false;
  },
};

/** A gate that decides when it is told to at `/decide`, as if its store were slow. */
const deciding = {
  ...reserving,
  async skip() {
    asked += 1;
    const own = asked;
    while (decidedUntil < own) await sleep(20);
    return false;
  },
};

const limitRequests = rateLimit(limiter, { rules: "requests", by });
const limitTokens = rateLimit(limiter, reserving);
const handlers = {
  "/address": rateLimit(limiter, { rules: "requests", proxies: 0 })(() => new Response("ok")),
  "/web": limitRequests(() => new Response("ok")),
  "/web/deciding": rateLimit(limiter, deciding)(wait),
  "/web/wait": limitTokens(wait),
  "/web/stream": limitTokens((request, admission) => stream(request, admission)),
};

const app = new Hono();
app.get("/hono", honoRateLimit(limiter, { rules: "requests", by }), (c) => c.text("ok"));
app.get("/hono/deciding", honoRateLimit(limiter, deciding), wait);
app.get("/hono/wait", honoRateLimit(limiter, reserving), wait);
app.get("/hono/stream", honoRateLimit(limiter, reserving), (c) => stream(c.req.raw, c.get("rateLimit")));

/** Serves a request; `platform` is what the runtime gives to its handlers beside it. */
export async function serve(request, platform) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === "/state") {
    const { remaining } = limiter.peekSync("tokens", `header:${searchParams.get("key")}`);
    return Response.json({ used: Math.round(10 - remaining), endings, asked, served });
  }
  if (pathname === "/decide") {
    await sleep(200);
    decidedUntil = asked;
    return new Response(null);
  }
  if (pathname === "/client") {
    const retries = [];
    const paced = pacedFetch({ onRetry: ({ status, waitMs }) => retries.push({ status, waitMs }) });
    const response = await paced(searchParams.get("url"));
    return Response.json({ status: response.status, retries });
  }
  const handler = handlers[pathname];
  return handler === undefined ? app.fetch(request, platform) : handler(request, platform);
}

/** A handler that takes its time, and does not look whether the client has left. */
async function wait() {
  served += 1;
  await sleep(60_000);
  return new Response("done");
}

/** Sends some bytes, one after the other, and settles their number at the end. */
function stream(request, admission) {
  const count = Number(new URL(request.url).searchParams.get("bytes"));
  let sent = 0;
  const source = new ReadableStream({
    async pull(controller) {
      if (sent === count) return controller.close();
      await sleep(10);
      sent += 1;
      controller.enqueue(new Uint8Array([120]));
    },
  });
  return new Response(source.pipeThrough(new TransformStream({ flush: () => admission.settle(sent) })));
}

function sleep(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
