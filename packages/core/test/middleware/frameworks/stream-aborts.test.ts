import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { stream } from "hono/streaming";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Limiter } from "../../../src/index.ts";
import * as forExpress from "../../../src/middleware/express.ts";
import * as forHono from "../../../src/middleware/hono.ts";
import { closeServer, type rules } from "./framework.ts";
import { type Pattern, patterns } from "./streams/answers.ts";
import { RESERVED, type StreamingServer, streamingServers } from "./streams/streaming-servers.ts";
import { startUpstream } from "./streams/upstream.ts";
import { PATIENT, remainingByHeader, visit } from "./streams/visit.ts";
import { inMemory, KEY } from "./suite/site.ts";

const LIMIT = 10;
const BYTES = 3;

/** A server, and a client whose request the handler is working on: the upstream has it. */
async function streaming(framework: StreamingServer, pattern: Pattern) {
  const { limiter } = inMemory();
  const upstream = await startUpstream();
  const { server, close } = await framework.listen({ limiter, pattern, upstream: upstream.url });
  onTestFinished(close);
  let closed = false;
  server.prependListener("request", (_request, response: ServerResponse) => {
    response.once("close", () => {
      closed = true;
    });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = visit(`${url}/stream`);
  await upstream.asked;
  const used = () => LIMIT - limiter.peekSync("day", KEY).remaining;
  expect(used()).toBe(RESERVED);

  /** What the request has cost in the end, as the limiter says and as a later request learns. */
  const expectUsed = async (expected: number) => {
    // The server and the handler know by now that the client has left.
    await expect.poll(() => closed && upstream.isClosed(), PATIENT).toBe(true);
    await expect.poll(used, PATIENT).toBe(expected);
    expect(await remainingByHeader(`${url}/next`)).toBe(LIMIT - expected - 1);
  };
  return { client, upstream, expectUsed };
}

describe.each(streamingServers)("$name: a client that leaves a stream", (framework) => {
  const { flushesHeaders } = framework;

  describe.each(patterns)("that is settled %s", (pattern) => {
    it("before the headers gets the estimate back", async () => {
      const { client, expectUsed } = await streaming(framework, pattern);
      client.leave();
      await expectUsed(0);
    });

    const isEstimateKept = flushesHeaders && pattern !== "in finally";
    it(`before the first byte ${isEstimateKept ? "is charged the estimate" : "gets the estimate back"}`, async () => {
      const { client, upstream, expectUsed } = await streaming(framework, pattern);
      await upstream.begin();
      if (flushesHeaders) await client.hasHeaders();
      client.leave();
      await expectUsed(isEstimateKept ? RESERVED : 0);
    });

    it.each([1, 2, BYTES])(`after byte %d of ${BYTES} is charged the estimate, or what was settled`, async (bytes) => {
      const { client, upstream, expectUsed } = await streaming(framework, pattern);
      await upstream.begin();
      for (let sent = 1; sent <= bytes; sent += 1) {
        await upstream.sendByte();
        await client.hasBytes(sent);
      }
      client.leave();
      const isSettled = pattern === "with each chunk" || pattern === "in finally";
      await expectUsed(isSettled ? bytes : RESERVED);
    });

    it("after the end is charged what was settled", async () => {
      const { client, upstream, expectUsed } = await streaming(framework, pattern);
      await upstream.begin();
      for (let sent = 1; sent <= BYTES; sent += 1) {
        await upstream.sendByte();
        await client.hasBytes(sent);
      }
      await upstream.end();
      await client.hasEnded();
      client.leave();
      await expectUsed(BYTES);
    });
  });
});

describe("a handler that goes on after its client has left", () => {
  /** Waits for the end of the upstream's answer, whether or not anybody reads it. */
  async function readOn(upstream: string, write: (chunk: Uint8Array) => unknown): Promise<number> {
    const { body } = await fetch(upstream);
    let used = 0;
    for await (const chunk of body ?? []) {
      used += chunk.length;
      await write(chunk);
    }
    return used;
  }

  it.each<[string, (limiter: Limiter<typeof rules>, upstream: string) => Server]>([
    [
      "Express",
      (limiter, upstream) => {
        const app = express();
        const limit = forExpress.rateLimit(limiter, { rules: { rule: "day", reserve: RESERVED } });
        app.get("/stream", limit, async (request, response) => {
          await request.rateLimit?.settle(
            await readOn(upstream, (chunk) => response.destroyed || response.write(chunk)),
          );
          response.end();
        });
        return createServer(app).listen(0, "127.0.0.1");
      },
    ],
    [
      "Hono",
      (limiter, upstream) => {
        const app = new Hono();
        const limit = forHono.rateLimit(limiter, { rules: { rule: "day", reserve: RESERVED } });
        app.get("/stream", limit, (c) =>
          stream(c, async (output) => {
            await c.get("rateLimit")?.settle(await readOn(upstream, (chunk) => output.write(chunk)));
          }),
        );
        return serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
      },
    ],
  ])("can still settle: %s", async (_name, listen) => {
    const { limiter } = inMemory();
    const upstream = await startUpstream();
    const server = listen(limiter, upstream.url);
    onTestFinished(() => closeServer(server));
    if (!server.listening) await once(server, "listening");
    const closed = new Promise((resolve) => {
      server.once("request", (_request, response: ServerResponse) => response.once("close", resolve));
    });
    const used = () => LIMIT - limiter.peekSync("day", KEY).remaining;
    const client = visit(`http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`);
    await upstream.begin();
    await upstream.sendByte();
    await client.hasBytes(1);
    client.leave();
    await closed;
    expect(used()).toBe(RESERVED);
    for (let sent = 1; sent < BYTES; sent += 1) await upstream.sendByte();
    await upstream.end();
    await expect.poll(used, PATIENT).toBe(BYTES);
  });
});
