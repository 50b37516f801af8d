import fastify, { type FastifyServerOptions } from "fastify";
import { describe, expect, it } from "vitest";
import { adapterOf } from "../../../../src/middleware/nest/nest-http.ts";

/** A request over a proxy, as Nest hands it on from Fastify. */
async function seen(trustProxy: FastifyServerOptions["trustProxy"], proxies?: unknown) {
  const app = fastify({ ...(trustProxy === undefined ? {} : { trustProxy }) });
  const testAdapter = adapterOf(proxies);
  app.get("/", async (request) => ({
    peer: testAdapter.peer(request),
    connection: testAdapter.connection?.(request),
    trustsAll: testAdapter.trustsAll?.(request),
  }));
  return (await app.inject({ url: "/", headers: { "x-forwarded-for": "6.6.6.6, 203.0.113.7" } })).json();
}

describe("a request of Nest on Fastify", () => {
  it("has the address of the connection, and of the client as far as proxies are trusted", async () => {
    const connection = "127.0.0.1";
    expect(await seen(undefined)).toEqual({ peer: connection, connection, trustsAll: false });
    expect(await seen("loopback")).toEqual({ peer: "203.0.113.7", connection, trustsAll: false });
    expect(await seen(true)).toEqual({ peer: "6.6.6.6", connection, trustsAll: true });
  });

  it("is as it came if the option proxies is given", async () => {
    expect(await seen("loopback", 1)).toEqual({ peer: "127.0.0.1" });
  });
});
