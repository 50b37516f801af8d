import { status } from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import type { CheckResult } from "../../../src/checks/check.ts";
import { world } from "../../checks/fixtures.ts";
import { by, call, check, served } from "./fixtures.ts";

describe("a server that stops", () => {
  it("answers what it has begun, and takes no more", async () => {
    const made = await world();
    const result = await made.service.peek({ identifier: "1", dimension: "user", endpoint: "/", cost: 1 });
    let answer: (result: CheckResult) => void = () => {};
    const later = () =>
      new Promise<CheckResult>((resolve) => {
        answer = resolve;
      });
    const asked = vi.fn(later);
    const { client, server } = await served([], { instead: { check: asked } });
    const pending = call(client, client.checkRateLimit, check());
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    const stopped = vi.fn();
    const stopping = server.stop(60_000).then(stopped);
    await expect(call(client, client.checkRateLimit, check())).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(stopped).not.toHaveBeenCalled();
    answer(result);
    expect(await pending).toMatchObject({ allowed: true });
    await stopping;
  });

  it("ends streams with UNAVAILABLE, after what was read of them is answered", async () => {
    const { client, server } = await served();
    const stream = client.checkRateLimitStream(by("check"));
    const answers: unknown[] = [];
    const ended = new Promise((resolve) => {
      stream.on("error", resolve);
    });
    stream.on("data", (answer) => answers.push(answer));
    stream.write({ correlationId: "1", checks: [check()] });
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    await server.stop(60_000);
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
  });

  it("forces the end when its time is over", async () => {
    const asked = vi.fn(() => new Promise<never>(() => {}));
    const { client, server } = await served([], { instead: { check: asked } });
    const pending = call(client, client.checkRateLimit, check()).catch((error) => error);
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    await server.stop(50);
    expect(await pending).toMatchObject({ code: expect.any(Number) });
  });
});
