import { setTimeout as delay } from "node:timers/promises";
import type { Answer } from "headgate";
import { makeCertificate } from "headgate-testkit/certificate";
import { Redis } from "ioredis";
import { expect, it, vi } from "vitest";
import { CallLimits } from "../../../src/checks/call-limits.ts";
import { finallyDo } from "../finally-do.ts";
import { owner, RawClient, served } from "./fixtures.ts";

const ANSWER: Answer = {
  time: 0,
  allowed: true,
  remaining: 1,
  retryAfter: 0,
  resetAfter: 0,
  source: "store",
  degraded: false,
};
const REPLY = "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n";

/** A store that answers on demand. */
function slowLimits() {
  const waiting: (() => void)[] = [];
  const store = {
    apply: () => new Promise<readonly Answer[]>((resolve) => waiting.push(() => resolve([ANSWER]))),
  };
  const stores = { strict: store, cached: store, leased: store, split: store };
  return { waiting, callLimits: new CallLimits({ stores, consistency: "strict", onError: "local" }) };
}

it("does nothing without a key but take one", async () => {
  const { port } = await served();
  const raw = new RawClient(port);
  for (const command of ["PING", "INFO", "CL.THROTTLE a 1 1 1", "DEL a", "FOO", "COMMAND", "HELLO 3"]) {
    expect(await raw.ask(`${command}\r\n`, 34), command).toBe("-NOAUTH Authentication required.\r\n");
  }
  expect(await raw.ask("AUTH check-key\r\nPING\r\n", 12)).toBe("+OK\r\n+PONG\r\n");
});

it("refuses wrong keys and missing roles, and throttles guessing", async () => {
  const { port } = await served();
  const raw = new RawClient(port);
  expect(await raw.ask("AUTH read-key\r\nPING\r\nCL.THROTTLE a 1 1 1\r\n", 90)).toMatch(
    /^\+OK\r\n\+PONG\r\n-NOPERM the API key does not have the role check/,
  );
  for (let i = 0; i < 3; i += 1) {
    expect(await raw.ask("AUTH default wrong\r\n", 60)).toMatch(/^-WRONGPASS invalid username-password pair/);
  }
  expect(await raw.ask("AUTH wrong\r\n", 60)).toMatch(/^-WRONGPASS too many wrong API keys from this address; retry/);
  // The key from before is still in use.
  expect(await raw.ask("PING\r\n", 7)).toBe("+PONG\r\n");
});

it("notices that a key was revoked, and one whose owner has changed", async () => {
  const { port, keys } = await served();
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  expect(await raw.ask("CL.THROTTLE k 1 1 60\r\n", REPLY.length)).toBe(REPLY);
  keys.set("check-key", owner("check", ["check"], "elsewhere"));
  expect(await raw.ask("CL.THROTTLE k 1 1 60\r\n", REPLY.length)).toBe(REPLY);
  keys.delete("check-key");
  expect(await raw.ask("PING\r\n", 34)).toBe("-NOAUTH Authentication required.\r\n");
});

it("closes connections that break the protocol, after it has answered what came before", async () => {
  const { port, mistakes } = await served();
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  const text = await raw.ask("PING\r\n*1\r\n$x\r\nPING\r\n", 1_000);
  expect(text).toBe("+PONG\r\n-ERR Protocol error: invalid bulk length\r\n");
  expect(raw.isClosed).toBe(true);
  expect(mistakes).toEqual([]);
});

it("buffers little for a client without a key", async () => {
  const { port } = await served();
  const raw = new RawClient(port);
  expect(await raw.ask(`*2\r\n$4\r\nAUTH\r\n$100000\r\n${"x".repeat(100_000)}`, 1_000)).toBe(
    "-ERR Protocol error: invalid bulk length\r\n",
  );
  expect(raw.isClosed).toBe(true);
});

it("makes room for clients with a key by closing the oldest without one", async () => {
  const { port } = await served({ maxConnections: 2 });
  const first = new RawClient(port);
  await first.ask("AUTH check-key\r\n", 5);
  const second = new RawClient(port);
  await second.ask("PING\r\n", 34);
  const third = new RawClient(port);
  await third.ask("AUTH check-key\r\n", 5);
  await vi.waitFor(() => expect(second.isClosed).toBe(true));
  expect(await first.ask("PING\r\n", 7)).toBe("+PONG\r\n");
  const fourth = new RawClient(port);
  await vi.waitFor(() => expect(fourth.isClosed).toBe(true));
});

it("answers in order, whatever the store answers first", async () => {
  const { waiting, callLimits } = slowLimits();
  const { port } = await served({ instead: { callLimits } });
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  const asked = raw.ask("CL.THROTTLE a 1 1 60\r\nECHO x\r\nCL.THROTTLE b 1 1 60\r\nPING\r\n", 2 * REPLY.length + 14);
  await vi.waitFor(() => expect(waiting).toHaveLength(2));
  waiting[1]();
  await delay(10);
  expect(raw.received).toBe("");
  waiting[0]();
  expect(await asked).toBe(`${REPLY}$1\r\nx\r\n${REPLY}+PONG\r\n`);
});

it("reads no more than it can have in progress, and continues when the store has answered", async () => {
  const { waiting, callLimits } = slowLimits();
  const { port } = await served({ instead: { callLimits } });
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  const asked = raw.ask("CL.THROTTLE a 1 1 60\r\n".repeat(5_000), 5_000 * REPLY.length);
  await vi.waitFor(() => expect(waiting).toHaveLength(1_024));
  await delay(20);
  expect(waiting).toHaveLength(1_024);
  for (let answered = 0; answered < 5_000; ) {
    await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(0));
    for (const answer of waiting.splice(0)) {
      answer();
      answered += 1;
    }
  }
  expect(await asked).toBe(REPLY.repeat(5_000));
});

it("stops reading from a client that does not read, and loses nothing", async () => {
  const { port } = await served();
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  raw.socket.pause();
  const size = 60_000;
  const echo = `*2\r\n$4\r\nECHO\r\n$${size}\r\n${"x".repeat(size)}\r\n`;
  const count = 400;
  let sent = 0;
  raw.socket.write(echo.repeat(count), "latin1", () => {
    sent = count;
  });
  await delay(200);
  expect(sent, "the client's own buffers must be full").toBe(0);
  raw.received = "";
  raw.socket.resume();
  const replies = count * (size + `$${size}\r\n\r\n`.length);
  await vi.waitFor(() => expect(raw.received.length).toBe(replies), 20_000);
});

it("says goodbye on QUIT", async () => {
  const { port } = await served();
  const raw = new RawClient(port);
  expect(await raw.ask("AUTH check-key\r\nQUIT\r\nPING\r\n", 100)).toBe("+OK\r\n+OK\r\n");
  expect(raw.isClosed).toBe(true);
});

it("answers what it has read before it stops", async () => {
  const { waiting, callLimits } = slowLimits();
  const { port, server } = await served({ instead: { callLimits } });
  const idle = new RawClient(port);
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  const asked = raw.ask("CL.THROTTLE a 1 1 60\r\n", REPLY.length);
  await vi.waitFor(() => expect(waiting).toHaveLength(1));
  const stopped = server.stop(5_000);
  await vi.waitFor(() => expect(idle.isClosed).toBe(true));
  waiting[0]();
  expect(await asked).toBe(REPLY);
  await stopped;
});

it("reports errors of the store to the client, and bugs to the log only", async () => {
  const failing = (error: Error) => {
    const store = { apply: () => Promise.reject(error) };
    const stores = { strict: store, cached: store, leased: store, split: store };
    return new CallLimits({ stores, consistency: "strict", onError: "local" });
  };
  const { port, mistakes } = await served({ instead: { callLimits: failing(new Error("secret detail")) } });
  const raw = new RawClient(port);
  await raw.ask("AUTH check-key\r\n", 5);
  expect(await raw.ask("CL.THROTTLE a 1 1 60\r\n", 40)).toBe("-ERR internal error; see the log of the service\r\n");
  expect(mistakes).toMatchObject([{ message: "secret detail" }]);
  expect(await raw.ask("PING\r\n", 7)).toBe("+PONG\r\n");
});

it("speaks TLS", async () => {
  const { cert, key } = makeCertificate();
  const { port } = await served({ tls: { cert, key, clientCa: undefined } });
  const client = new Redis({ port, password: "check-key", tls: { rejectUnauthorized: false }, retryStrategy: null });
  finallyDo(() => client.disconnect());
  expect(await client.call("CL.THROTTLE", "k", 1, 1, 60)).toEqual([0, 2, 1, -1, 60]);
});
