import { describe, expect, it, onTestFinished } from "vitest";
import { startExample, statuses } from "./example.ts";

async function started(name: string) {
  const example = await startExample(name);
  onTestFinished(() => example.stop());
  return example;
}

describe("the example of", () => {
  it.each(["express", "fastify", "hono", "koa", "nest", "web"])("%s lets 5 requests a minute pass", async (name) => {
    const example = await started(name);
    const calls = await example.callTimes(6);
    expect(statuses(calls)).toEqual([200, 200, 200, 200, 200, 429]);
    const [first, , , , fifth, refused] = calls;
    expect([first.text, fifth.text]).toEqual(["hello, 4 more\n", "hello, 0 more\n"]);
    expect(first.headers.get("ratelimit-policy")).toBe('"api";q=5;w=60');
    expect(first.headers.get("ratelimit")).toBe('"api";r=4;t=12');
    expect(refused.headers.get("content-type")).toContain("application/problem+json");
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(12);
    expect(JSON.parse(refused.text)).toMatchObject({ title: "Quota exceeded", "violated-policies": ["api"] });
  });

  it.each(["express", "fastify", "nest"])("%s has a second limit for logins", async (name) => {
    const example = await started(name);
    const calls = await example.callTimes(3, "/login", { method: "POST" });
    expect(calls.map(({ text }) => text).slice(0, 2)).toEqual(["welcome\n", "welcome\n"]);
    expect(calls[2].status).toBe(429);
    expect(JSON.parse(calls[2].text)["violated-policies"]).toEqual(["login"]);
    // The refused one was charged to neither.
    expect((await example.call()).text).toBe("hello, 2 more\n");
  });

  it("hono counts those with a key by their keys", async () => {
    const example = await started("hono");
    await example.callTimes(5);
    expect((await example.call("/", { headers: { "x-api-key": "ann" } })).text).toBe("hello, 4 more\n");
  });

  it("llm-tokens reserves what an answer may cost, and settles what it did cost", async () => {
    const example = await started("llm-tokens");
    const ask = (prompt: string, key = "ann") =>
      example.call("/chat", {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ prompt }),
      });
    const left = ({ headers }: { headers: Headers }) => Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    const first = await ask("good morning");
    expect([JSON.parse(first.text), left(first)]).toEqual([{ text: "You said: good morning", tokens: 6 }, 498]);
    expect((await ask("fail")).status).toBe(500);
    // 6 were used, and 502 are reserved again. The failure cost nothing.
    expect(left(await ask("good morning"))).toBe(492);
    const long = await ask("and ".repeat(600));
    expect([long.status, JSON.parse(long.text)["violated-policies"]]).toEqual([429, ["tokens"]]);
    expect(left(await ask("good morning", "bob"))).toBe(498);
  });

  it("llm-tokens charges a client that leaves a stream for the words that it got", async () => {
    const example = await started("llm-tokens");
    const ask = async (path: string, prompt: string, signal?: AbortSignal) =>
      fetch(example.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": "ann" },
        body: JSON.stringify({ prompt }),
        ...(signal === undefined ? {} : { signal }),
      });
    const whole = await ask("/chat/stream", "a b");
    expect(await whole.text()).toBe("You\nsaid:\na\nb\n");
    const controller = new AbortController();
    const response = await ask("/chat/stream", "word ".repeat(200).trim(), controller.signal);
    await response.body?.getReader().read();
    controller.abort();
    // One that fails costs nothing, so it only tells what is left: 501 more than after its own estimate.
    let left = Number.NaN;
    const isSettled = async () => {
      const answer = await ask("/chat", "fail");
      await answer.text();
      left = 501 + Number(/r=(\d+)/.exec(answer.headers.get("ratelimit") ?? "")?.[1]);
      return answer.status === 500;
    };
    // While 700 are reserved there is no room for 501.
    await expect.poll(isSettled, { timeout: 20_000 }).toBe(true);
    // The first stream cost 6, and the second its prompt of 200 and a few of its 202 words. Some flows back meanwhile.
    expect(left).toBeLessThan(800);
    expect(left).toBeGreaterThan(600);
  });
});
