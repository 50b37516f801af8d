import { type ClientDuplexStream, status } from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import type { CheckResult } from "../../../src/checks/check.ts";
import { rule, world } from "../../checks/fixtures.ts";
import { by, check, type Served, served } from "./fixtures.ts";
import type {
  CheckRateLimitStreamRequest,
  CheckRateLimitStreamResponse,
} from "./generated/headgate/v1/rate_limiter.ts";

type Stream = ClientDuplexStream<CheckRateLimitStreamRequest, CheckRateLimitStreamResponse>;

interface Conversation {
  readonly stream: Stream;
  readonly answers: CheckRateLimitStreamResponse[];
  /** The status that it ended with. */
  readonly ended: Promise<{ readonly code: status }>;
}

function converse({ client }: Served): Conversation {
  const stream = client.checkRateLimitStream(by("check"));
  const answers: CheckRateLimitStreamResponse[] = [];
  stream.on("data", (answer) => answers.push(answer));
  const ended = new Promise<{ code: status }>((resolve) => {
    stream.on("status", resolve);
    stream.on("error", () => {});
  });
  return { stream, answers, ended };
}

describe("CheckRateLimitStream", () => {
  it("answers each message with one of its correlation id, until the client ends", async () => {
    const scene = await served([rule({ limit: 3 })]);
    const { stream, answers, ended } = converse(scene);
    for (const correlationId of ["one", "two", ""]) stream.write({ correlationId, checks: [check(), check()] });
    stream.end();
    expect(await ended).toMatchObject({ code: status.OK });
    // No order is promised: a message whose checks take longer than a turn continues beside the next ones.
    expect(answers.map(({ correlationId }) => correlationId).sort()).toEqual(["", "one", "two"]);
    expect(answers.map(({ responses }) => responses.length)).toEqual([2, 2, 2]);
    expect(answers.flatMap(({ responses }) => responses.filter(({ allowed }) => allowed))).toHaveLength(3);
    expect(scene.told.calls).toEqual(["grpc CheckRateLimitStream OK"]);
  });

  it("continues after an invalid check, and ends at an invalid message", async () => {
    const scene = await served();
    const { stream, answers, ended } = converse(scene);
    stream.write({ correlationId: "1", checks: [check({ identifier: "" }), check()] });
    stream.write({ correlationId: "2", checks: Array.from({ length: 1_001 }, () => check()) });
    expect(await ended).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(answers).toMatchObject([
      { correlationId: "1", responses: [{ allowed: false }, { allowed: true }], errors: [{ index: 0 }] },
    ]);
    expect(scene.told.decisions).toHaveLength(1);
  });

  it("answers in the order in which answers come, and all before it ends", async () => {
    const made = await world();
    const result = await made.service.peek({ identifier: "1", dimension: "user", endpoint: "/", cost: 1 });
    const waiting: ((result: CheckResult) => void)[] = [];
    const later = () => new Promise<CheckResult>((resolve) => waiting.push(resolve));
    const { stream, answers, ended } = converse(await served([], { instead: { check: later } }));
    for (const correlationId of ["1", "2", "3"]) stream.write({ correlationId, checks: [check()] });
    stream.end();
    await vi.waitFor(() => expect(waiting).toHaveLength(3));
    for (const answer of waiting.reverse()) {
      answer(result);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toMatchObject({ code: status.OK });
    expect(answers.map(({ correlationId }) => correlationId)).toEqual(["3", "2", "1"]);
  });

  it("has at most 16 messages in progress: more are not read", async () => {
    const waiting: ((error: Error) => void)[] = [];
    const later = () => new Promise<CheckResult>((_, reject) => waiting.push(reject));
    const { stream } = converse(await served([], { instead: { check: later } }));
    for (let i = 0; i < 50; i += 1) stream.write({ correlationId: String(i), checks: [check()] });
    await vi.waitFor(() => expect(waiting).toHaveLength(16));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(waiting).toHaveLength(16);
    stream.cancel();
  });

  it("does not read on while the client does not take the answers", async () => {
    const scene = await served([rule({ limit: 1_000_000 })]);
    const stream = scene.client.checkRateLimitStream(by("check"));
    stream.on("error", () => {});
    const checks = Array.from({ length: 500 }, () => check({ withLimits: true }));
    const messages = 200;
    let answered = 0;
    const all = new Promise<void>((resolve) => {
      stream.on("data", () => {
        answered += 1;
        // Only a client that has begun to read can stop: until then grpc-js receives everything.
        if (answered === 1) stream.pause();
        if (answered === messages) resolve();
      });
    });
    for (let i = 0; i < messages; i += 1) stream.write({ correlationId: String(i), checks });
    let before = -1;
    await vi.waitFor(
      () => {
        const now = scene.told.decisions.length;
        const still = now === before;
        before = now;
        expect(still && answered > 0).toBe(true);
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(before).toBeLessThan((messages / 2) * checks.length);
    stream.resume();
    await all;
    expect(scene.told.decisions).toHaveLength(messages * checks.length);
    stream.cancel();
  });

  it("that the client cancels is forgotten", async () => {
    const scene = await served();
    const { stream, answers } = converse(scene);
    stream.write({ correlationId: "1", checks: [check()] });
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    stream.cancel();
    // Which of the two, depends on which of the client's frames is read first.
    const one = [expect.stringMatching(/^grpc CheckRateLimitStream (CANCELLED|OK)$/)];
    await vi.waitFor(() => expect(scene.told.calls).toEqual(one));
  });
});
