import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Framework } from "../framework.ts";
import { type Pattern, patterns } from "../streams/answers.ts";
import { RESERVED, type StreamingServer } from "../streams/streaming-server.ts";
import { startUpstream } from "../streams/upstream.ts";
import { PATIENT, remainingByHeader, visit } from "../streams/visit.ts";
import { inMemory, KEY } from "./site.ts";

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

/** Clients that leave while a response is streamed. */
export function leavingStreamsSuite<Request>({ streams }: Framework<Request>): void {
  describe.each(streams)("$name: a client that leaves a stream", (server) => {
    const { flushesHeaders } = server;

    describe.each(patterns)("that is settled %s", (pattern) => {
      it("before the headers gets the estimate back", async () => {
        const { client, expectUsed } = await streaming(server, pattern);
        client.leave();
        await expectUsed(0);
      });

      const isEstimateKept = flushesHeaders && pattern !== "in finally";
      it(`before the first byte ${isEstimateKept ? "is charged the estimate" : "gets the estimate back"}`, async () => {
        const { client, upstream, expectUsed } = await streaming(server, pattern);
        await upstream.begin();
        if (flushesHeaders) await client.hasHeaders();
        client.leave();
        await expectUsed(isEstimateKept ? RESERVED : 0);
      });

      it.each([1, 2, BYTES])(
        `after byte %d of ${BYTES} is charged the estimate, or what was settled`,
        async (bytes) => {
          const { client, upstream, expectUsed } = await streaming(server, pattern);
          await upstream.begin();
          for (let sent = 1; sent <= bytes; sent += 1) {
            await upstream.sendByte();
            await client.hasBytes(sent);
          }
          client.leave();
          const isSettled = pattern === "with each chunk" || pattern === "in finally";
          await expectUsed(isSettled ? bytes : RESERVED);
        },
      );

      it("after the end is charged what was settled", async () => {
        const { client, upstream, expectUsed } = await streaming(server, pattern);
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
}
