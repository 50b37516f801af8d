import { once } from "node:events";
import { constants } from "node:http2";
import { connect } from "node:net";
import { status } from "@grpc/grpc-js";
import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it } from "vitest";
import { finallyDo } from "../finally-do.ts";
import { by, call, check, clientOf, served } from "./fixtures.ts";
import { frame, hastySession, rawCall, rawSession } from "./http2-client.ts";

const SERVICE = "/headgate.v1.RateLimiter";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const METHODS = [
  "CheckRateLimit",
  "GetRemainingQuota",
  "ResetLimit",
  "CheckRateLimitBatch",
  "CheckRateLimitStream",
] as const;
const MB = 1_000_000;

describe("a call without a valid key", () => {
  it.each(METHODS)("to %s is refused while its message is still being sent", async (method) => {
    const { address, told } = await served();
    const session = await rawSession(address);
    for (const authorization of [undefined, "Bearer wrong"]) {
      const { stream, outcome, closed } = rawCall(session, `${SERVICE}/${method}`, authorization);
      stream.write(frame(MB, MB - 1));
      expect(await outcome).toBe(String(status.UNAUTHENTICATED));
      // The client is asked to stop sending, without an error.
      expect(await closed).toBe(0);
    }
    const refused = `grpc ${method} UNAUTHENTICATED`;
    expect(told.calls).toEqual([refused, refused]);
  });

  it("costs at most one flow-control window, whatever it sends", async () => {
    const { address } = await served();
    const session = await rawSession(address);
    const calls = Array.from({ length: 100 }, () => rawCall(session, `${SERVICE}/CheckRateLimit`));
    for (const { stream } of calls) stream.write(frame(MB, MB - 1));
    const outcomes = await Promise.all(calls.map(({ outcome }) => outcome));
    expect(new Set(outcomes)).toEqual(new Set([String(status.UNAUTHENTICATED)]));
    await Promise.all(calls.map(({ closed }) => closed));
    // 64 kB for each stream, and the headers.
    expect(session.socket.bytesWritten).toBeLessThan(100 * 70_000);
  });
});

describe("a message that does not arrive in time", () => {
  it.each(METHODS)("ends a call to %s with DEADLINE_EXCEEDED", async (method) => {
    const { address } = await served([], { bounds: { grpcMessageTimeoutMs: 100 } });
    const session = await rawSession(address);
    const { stream, outcome, closed } = rawCall(session, `${SERVICE}/${method}`, "Bearer admin-key");
    stream.write(frame(MB, 10));
    expect(await outcome).toBe(String(status.DEADLINE_EXCEEDED));
    expect(await closed).toBe(0);
  });

  it("ends a call that has sent its message but not its end", async () => {
    const { address } = await served([], { bounds: { grpcMessageTimeoutMs: 100 } });
    const { stream, outcome } = rawCall(await rawSession(address), `${SERVICE}/CheckRateLimit`, "Bearer admin-key");
    stream.write(frame(0));
    expect(await outcome).toBe(String(status.DEADLINE_EXCEEDED));
  });

  it("does not end a stream that is silent between messages", async () => {
    const { address, client } = await served([], { bounds: { grpcMessageTimeoutMs: 50 } });
    const silent = client.checkRateLimitStream(by("check"));
    const answers: unknown[] = [];
    silent.on("data", (answer) => answers.push(answer)).on("error", (error) => answers.push(error));
    silent.write({ correlationId: "1", checks: [check()] });
    await eventually("the first answer", async () => answers.length === 1);
    // Several that began later are ended meanwhile.
    const session = await rawSession(address);
    for (let i = 0; i < 3; i += 1) {
      const { stream, outcome } = rawCall(session, `${SERVICE}/CheckRateLimitStream`, "Bearer check-key");
      stream.write(frame(MB, 10));
      expect(await outcome).toBe(String(status.DEADLINE_EXCEEDED));
    }
    silent.write({ correlationId: "2", checks: [check()] });
    await eventually("the second answer", async () => answers.length === 2);
    expect(answers[1]).toMatchObject({ correlationId: "2" });
    silent.end();
  });
});

describe("connections beyond the bound", () => {
  it("are refused while all others have shown a key", async () => {
    const { address, client } = await served([], { bounds: { grpcMaxConnections: 2 } });
    await call(client, client.checkRateLimit, check());
    const second = clientOf(address, { "grpc.use_local_subchannel_pool": 1 });
    await call(second, second.checkRateLimit, check());
    const third = connect(Number(address.split(":")[1]), "127.0.0.1");
    finallyDo(() => third.destroy());
    third.on("error", () => {});
    await once(third, "close");
    expect(third.bytesRead).toBe(0);
    await call(client, client.checkRateLimit, check());
    await call(second, second.checkRateLimit, check());
  });

  it("take the place of the oldest that has shown none", async () => {
    const { address, client } = await served([], { bounds: { grpcMaxConnections: 3 } });
    const [oldest, newer] = [await rawSession(address), await rawSession(address)];
    await call(client, client.checkRateLimit, check());
    const closed = once(oldest, "close");
    const newest = await rawSession(address);
    await closed;
    expect([newer.destroyed, newest.destroyed]).toEqual([false, false]);
    await call(client, client.checkRateLimit, check());
  });
});

describe("calls beyond the bound of a connection", () => {
  it("are refused, and there is room again when one ends", async () => {
    const { address } = await served([], { bounds: { grpcMaxStreams: 3 } });
    const session = hastySession(address);
    const begin = () => rawCall(session, `${SERVICE}/CheckRateLimitStream`, "Bearer check-key");
    const calls = [begin(), begin(), begin()];
    const beyond = begin();
    expect(await beyond.closed).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(session.remoteSettings.maxConcurrentStreams).toBe(3);
    calls[0].stream.end();
    expect(await calls[0].outcome).toBe(String(status.OK));
    const next = begin();
    next.stream.end();
    expect(await next.outcome).toBe(String(status.OK));
  });
});

describe("health and reflection, which need no key,", () => {
  it("refuse messages that are long or compressed", async () => {
    const { address } = await served();
    const session = await rawSession(address);
    for (const bytes of [frame(MB, 10), frame(4_097, 0), frame(10, 10, 1)]) {
      for (const path of [REFLECTION, "/grpc.health.v1.Health/Check"]) {
        const { stream, outcome, closed } = rawCall(session, path);
        stream.write(bytes);
        expect(await outcome).toBe(String(status.RESOURCE_EXHAUSTED));
        expect(await closed).toBe(0);
      }
    }
  });

  it("read no more from a client that does not take the answers", async () => {
    const { address } = await served();
    // No answer can be sent on a stream whose window is empty.
    const session = await rawSession(address, { settings: { initialWindowSize: 0 } });
    const { stream } = rawCall(session, REFLECTION);
    const question = Buffer.concat([frame(2, 0), Buffer.from([(7 << 3) | 2, 0])]);
    stream.write(Buffer.concat(Array.from({ length: 100_000 }, () => question)));
    for (let i = 0; i < 50; i += 1) await new Promise((resolve) => session.ping(resolve));
    expect(session.socket.bytesWritten).toBeLessThan(200_000);
  });

  it("have few calls at the same time on one connection", async () => {
    const { address } = await served();
    const session = await rawSession(address);
    const calls = Array.from({ length: 17 }, () => rawCall(session, REFLECTION));
    expect(await calls[16].outcome).toBe(String(status.RESOURCE_EXHAUSTED));
    calls[0].stream.end();
    expect(await calls[0].outcome).toBe(String(status.OK));
    const next = rawCall(session, REFLECTION);
    next.stream.end();
    expect(await next.outcome).toBe(String(status.OK));
  });
});
