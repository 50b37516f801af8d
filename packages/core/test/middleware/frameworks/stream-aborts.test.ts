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
import { RESERVED } from "./streams/streaming-server.ts";
import { startUpstream } from "./streams/upstream.ts";
import { PATIENT, visit } from "./streams/visit.ts";
import { inMemory, KEY } from "./suite/site.ts";

const LIMIT = 10;
const BYTES = 3;

describe("a handler that continues after its client has left", () => {
  /** Waits for the end of the upstream's answer, whether or not it is read. */
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
