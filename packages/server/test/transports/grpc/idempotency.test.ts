import { type Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { by, call, check, served } from "./fixtures.ts";

function keyed(...keys: string[]): Metadata {
  const metadata = by("check");
  for (const key of keys) metadata.add("x-idempotency-key", key);
  return metadata;
}

describe("the metadata x-idempotency-key", () => {
  it("is what the field idempotency_key is", async () => {
    const { client, clock } = await served();
    const first = await call(client, client.checkRateLimit, check(), keyed("a"));
    await clock.advance(1_234.567);
    expect(await call(client, client.checkRateLimit, check(), keyed("a"))).toEqual(first);
    expect(await call(client, client.checkRateLimit, check({ idempotencyKey: "a" }))).toEqual(first);
    expect(await call(client, client.checkRateLimit, check({ idempotencyKey: "a" }), keyed("a"))).toEqual(first);
    expect(await call(client, client.checkRateLimit, check(), keyed("b"))).toMatchObject({ currentCount: 2 });
    const other = call(client, client.checkRateLimit, check({ cost: 2 }), keyed("a"));
    await expect(other).rejects.toMatchObject({ code: status.ALREADY_EXISTS });
  });

  it.each([
    ["with a blank", keyed("two words")],
    ["of 256 characters", keyed("x".repeat(256))],
    ["that is empty", keyed("")],
    ["that comes twice", keyed("a", "b")],
  ])("%s is INVALID_ARGUMENT, and charges nothing", async (_, metadata) => {
    const { client } = await served();
    const failed = call(client, client.checkRateLimit, check(), metadata);
    await expect(failed).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("x-idempotency-key"),
    });
    expect(await call(client, client.checkRateLimit, check())).toMatchObject({ currentCount: 1 });
  });

  it("that differs from the field is INVALID_ARGUMENT", async () => {
    const { client } = await served();
    const failed = call(client, client.checkRateLimit, check({ idempotencyKey: "a" }), keyed("b"));
    await expect(failed).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it("is not for batches, whose checks have keys of their own", async () => {
    const { client } = await served();
    const failed = call(client, client.checkRateLimitBatch, { checks: [check(), check()] }, keyed("a"));
    await expect(failed).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("idempotency_key"),
    });
    const messages = client.checkRateLimitStream(keyed("a"));
    messages.write({ correlationId: "1", checks: [check()] });
    const code = await new Promise((resolve) => messages.on("error", (error) => resolve(Reflect.get(error, "code"))));
    expect(code).toBe(status.INVALID_ARGUMENT);
  });
});
