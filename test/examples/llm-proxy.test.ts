import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Example, startExample } from "./example.ts";

const PRICE = 3;
const TOKENS_PER_PART = 5;
const FOR_MS = 4_000;

/** A model that streams until it has sent as many parts as the prompt says, and knows how many it has sent. */
class Model {
  /** Parts sent, by the prompt. */
  readonly sent = new Map<string, number>();
  running = 0;
  mostRunning = 0;
  private readonly server: Server = createServer((request, response) => void this.answer(request, response));

  async start(): Promise<string> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    const address = this.server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: AsyncIterable<Uint8Array>, response: ServerResponse): Promise<void> {
    let prompt = "";
    for await (const chunk of request) prompt += Buffer.from(chunk).toString();
    this.running += 1;
    response.once("close", () => {
      this.running -= 1;
    });
    this.mostRunning = Math.max(this.mostRunning, this.running);
    const parts = Number(prompt.split(" ")[1]);
    for (let i = 0; i < parts && !response.destroyed; i += 1) {
      response.write(`${JSON.stringify({ text: `${prompt} ${i}\n`, tokens: TOKENS_PER_PART })}\n`);
      this.sent.set(prompt, i + 1);
      await delay(20);
    }
    response.end();
  }
}

let redis: RedisServer;
const model = new Model();
const proxies: Example[] = [];

beforeAll(async () => {
  redis = await startRedis();
  const UPSTREAM = await model.start();
  const env = { REDIS_URL: redis.url, UPSTREAM, FOR_MS: String(FOR_MS), MAX_WAIT_MS: "60000" };
  proxies.push(...(await Promise.all([startExample("llm-proxy", env), startExample("llm-proxy", env)])));
});

afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  model.stop();
  await redis?.stop();
});

async function usage(team: string): Promise<{ readonly spent: number; readonly streams: number }> {
  return JSON.parse((await proxies[1].call(`/usage/${team}`)).text);
}

/** Reads so many parts of an answer, then disconnects. Returns how many arrived. */
async function read(proxy: Example, team: string, prompt: string, most = Number.POSITIVE_INFINITY): Promise<number> {
  const gone = new AbortController();
  let text = "";
  try {
    const response = await fetch(`${proxy.url}/chat`, {
      method: "POST",
      headers: { "x-team": team, connection: "close" },
      body: prompt,
      signal: gone.signal,
    });
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.split("\n").length > most) gone.abort();
    }
  } catch {
    // It was disconnected, or the proxy was killed.
  }
  return text.split("\n").length - 1;
}

describe("the LLM proxy", () => {
  it("charges what was sent, runs four streams per team, and its budget adds up after a crash", async () => {
    const team = "a";
    const prompts = Array.from({ length: 12 }, (_, i) => `prompt-${i} ${i % 3 === 0 ? 400 : 30}`);
    const killed = ["killed-0 400", "killed-1 400"];
    const lost = killed.map((prompt) => read(proxies[0], team, prompt));
    await eventually("they run", async () => model.running === 2, 30_000);
    const rest = prompts.map((prompt, i) => read(proxies[1], team, prompt, i % 3 === 0 ? 10 : undefined));
    // Longer than a renewal, so that what was spent until then is known.
    await delay(FOR_MS / 2);
    await proxies[0].kill();
    const before = killed.map((prompt) => model.sent.get(prompt) ?? 0);
    await Promise.all([...lost, ...rest]);
    expect(model.mostRunning).toBeLessThanOrEqual(4);
    await eventually("all slots are returned", async () => (await usage(team)).streams === 0, 30_000);
    const units = TOKENS_PER_PART * PRICE;
    const sent = prompts.reduce((sum, prompt) => sum + (model.sent.get(prompt) ?? 0), 0);
    const atMost = sent + before.reduce((sum, parts) => sum + parts, 0);
    // A model may have sent a part that the proxy had not read when its client left.
    const unread = 4 * 2;
    await eventually("the killed proxy is cleaned up", async () => (await usage(team)).spent <= atMost * units, 30_000);
    const { spent } = await usage(team);
    const interval = (2 * (FOR_MS / 4)) / 20;
    expect(spent / units).toBeGreaterThanOrEqual(atMost - 2 * interval - unread);
    expect(spent / units).toBeLessThanOrEqual(atMost);
    expect(spent / units).toBeGreaterThan(sent - unread);
  });
});
