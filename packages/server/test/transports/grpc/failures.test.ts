import { status } from "@grpc/grpc-js";
import { StoreError } from "headgate";
import { describe, expect, it } from "vitest";
import { DatabaseError } from "../../../src/database/database-error.ts";
import { rule } from "../../checks/fixtures.ts";
import { by, call, check, clientOf, quota, served } from "./fixtures.ts";
import { CheckRateLimitRequest, CheckRateLimitResponse, Dimension } from "./generated/headgate/v1/rate_limiter.ts";
import { sendBytes } from "./raw-client.ts";

describe("a wrong check", () => {
  it.each([
    ["without an identifier", { identifier: "" }, "identifier"],
    ["with a very long identifier", { identifier: "x".repeat(1_025) }, "identifier"],
    ["without a dimension", { dimension: Dimension.DIMENSION_UNSPECIFIED }, "dimension"],
    ["with a dimension that there is not", { dimension: 99 as Dimension }, "dimension"],
    ["without an endpoint", { endpoint: "" }, "endpoint"],
    ["with an endpoint of 100 kB", { endpoint: `/${"x".repeat(100_000)}` }, "endpoint"],
    ["with a cost below 0", { cost: -1 }, "cost"],
    ["with a very long idempotency key", { idempotencyKey: "x".repeat(256) }, "idempotency_key"],
    ["with a blank in its idempotency key", { idempotencyKey: "two words" }, "idempotency_key"],
    ["with a letter beyond ASCII in its idempotency key", { idempotencyKey: "Jörg" }, "idempotency_key"],
  ])("%s is INVALID_ARGUMENT, and its details name the field", async (_, fields, field) => {
    const { client, service } = await served();
    const failed = call(client, client.checkRateLimit, check(fields));
    await expect(failed).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining(field),
    });
    const { metadata } = await failed.catch((error) => error);
    const [details] = metadata.get("grpc-status-details-bin");
    expect(String(details)).toContain("type.googleapis.com/google.rpc.BadRequest");
    expect(String(details)).toContain("BAD_FIELD");
    const { decisive } = await service.peek({ identifier: "42", dimension: "user", endpoint: "/", cost: 1 });
    expect(decisive).toMatchObject({ current_count: 0 });
  });

  it("with a path that can be read in too many ways is INVALID_ARGUMENT, alone and in a batch", async () => {
    const rules = Array.from({ length: 128 }, (_, i) => {
      const endpoint_pattern = Array.from({ length: 7 }, (_, bit) => ((i >> bit) & 1 ? "/a" : "/*")).join("");
      return rule({ rule_id: `rule-${i}`, endpoint_pattern });
    });
    const { client, service } = await served(rules);
    const tricky = check({ endpoint: `/${"a/..;%2f".repeat(30)}` });
    const refused = { code: status.INVALID_ARGUMENT };
    const details = "endpoint: is too ambiguous: send a normalized path";
    await expect(call(client, client.checkRateLimit, tricky)).rejects.toMatchObject({ ...refused, details });
    const { errors } = await call(client, client.checkRateLimitBatch, { checks: [tricky] });
    expect(errors).toMatchObject([{ index: 0, field: "endpoint", ...refused }]);
    const { limits } = await service.peek({ identifier: "42", dimension: "user", endpoint: "/a".repeat(7), cost: 1 });
    expect(limits.map(({ current_count }) => current_count)).toEqual(Array(128).fill(0));
  });

  const GOOD = Buffer.from(CheckRateLimitRequest.encode(check()).finish());

  it.each([
    ["that is cut off", GOOD.subarray(0, -1)],
    ["with a length beyond its end", Buffer.from([0x0a, 0x7f, 0x61])],
    ["with a number that does not end", Buffer.from([0x20, ...new Array(11).fill(0xff)])],
    ["with a number beyond 2^53", Buffer.from([0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])],
    ["with a field 0", Buffer.from([0x02, 0x00])],
    ["with a wire type that there is not", Buffer.from([0x0f])],
    ["with groups that never end", Buffer.alloc(1_000, 0x7b)],
    ["with a name that is not UTF-8", Buffer.from([0x0a, 0x02, 0xc3, 0x28, 0x10, 0x01])],
    ["that is text", Buffer.from('{"identifier":"42"}')],
  ])("%s is INVALID_ARGUMENT", async (_, bytes) => {
    const { address, mistakes } = await served();
    for (const method of ["CheckRateLimit", "CheckRateLimitBatch", "GetRemainingQuota", "ResetLimit"]) {
      const wrapped = method.endsWith("Batch")
        ? Buffer.concat([Buffer.from([0x0a, bytes.length % 128]), bytes])
        : bytes;
      await expect(sendBytes(address, method, wrapped, by("admin"))).rejects.toMatchObject({
        code: status.INVALID_ARGUMENT,
        details: expect.stringContaining("not valid protobuf"),
      });
    }
    expect(mistakes).toEqual([]);
  });

  it("is not one with fields that are not known here", async () => {
    const { address } = await served();
    const unknown = Buffer.from([
      ...[0xa0, 0x06, 0x96, 0x01], // 100: a number
      ...[0xa9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8], // 101: 64 bits
      ...[0xb2, 0x06, 3, 0x61, 0x62, 0x63], // 102: a string
      ...[0xbb, 0x06, 0x08, 0x01, 0xbc, 0x06], // 103: a group
      ...[0xc5, 0x06, 1, 2, 3, 4], // 104: 32 bits
    ]);
    const answer = await sendBytes(address, "CheckRateLimit", Buffer.concat([unknown, GOOD, unknown]), by("check"));
    expect(CheckRateLimitResponse.decode(answer)).toMatchObject({ allowed: true, currentCount: 1 });
  });
});

describe("a call that fails", () => {
  it("for another endpoint under an idempotency key is ALREADY_EXISTS, though the same rule matches", async () => {
    const { client } = await served();
    await call(client, client.checkRateLimit, check({ idempotencyKey: "a", endpoint: "/api/v1/orders" }));
    const other = check({ idempotencyKey: "a", endpoint: "/api/v1/users" });
    await expect(call(client, client.checkRateLimit, other)).rejects.toMatchObject({ code: status.ALREADY_EXISTS });
  });

  it("for another request under an idempotency key is ALREADY_EXISTS", async () => {
    const { client } = await served();
    await call(client, client.checkRateLimit, check({ idempotencyKey: "a" }));
    await expect(call(client, client.checkRateLimit, check({ idempotencyKey: "a", cost: 2 }))).rejects.toMatchObject({
      code: status.ALREADY_EXISTS,
    });
  });

  it("because the store does not reset is UNAVAILABLE", async () => {
    const reset = async (): Promise<never> => {
      throw new StoreError("HG_STORE_UNREACHABLE", "does not answer");
    };
    const { client } = await served([], { instead: { reset } });
    const request = { identifier: "42", dimension: Dimension.DIMENSION_USER, endpoint: "" };
    await expect(call(client, client.resetLimit, request)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it("of the database is UNAVAILABLE, with its code", async () => {
    const reset = async (): Promise<never> => {
      throw new DatabaseError("HG_DATABASE_UNREACHABLE", "cannot be reached");
    };
    const { client, mistakes } = await served([], { instead: { reset } });
    const request = { identifier: "42", dimension: Dimension.DIMENSION_USER, endpoint: "" };
    const failed = call(client, client.resetLimit, request);
    await expect(failed).rejects.toMatchObject({ code: status.UNAVAILABLE });
    const { metadata } = await failed.catch((error) => error);
    expect(String(metadata.get("grpc-status-details-bin"))).toContain("HG_DATABASE_UNREACHABLE");
    expect(mistakes).toEqual([]);
  });

  it("by a bug of ours is INTERNAL, does not expose its text, and is reported", async () => {
    const broken = (): never => {
      throw new TypeError("secret");
    };
    const { client, mistakes } = await served([], { instead: { check: broken } });
    const failed = call(client, client.checkRateLimit, check());
    await expect(failed).rejects.toMatchObject({ code: status.INTERNAL });
    await expect(failed).rejects.not.toMatchObject({ details: expect.stringContaining("secret") });
    expect(mistakes).toEqual([new TypeError("secret")]);
  });

  it("because the message is too large is RESOURCE_EXHAUSTED", async () => {
    const { address } = await served();
    const large = Buffer.alloc(1 << 21);
    await expect(sendBytes(address, "CheckRateLimit", large, by("check"))).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
  });

  it("because its deadline passes is DEADLINE_EXCEEDED; the server continues", async () => {
    const { address, client } = await served([], { instead: { check: () => new Promise(() => {}) } });
    const impatient = clientOf(address);
    await expect(
      new Promise((resolve, reject) => {
        impatient.checkRateLimit(check(), by("check"), { deadline: Date.now() + 50 }, (error, answer) =>
          error === null ? resolve(answer) : reject(error),
        );
      }),
    ).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(await call(client, client.getRemainingQuota, quota())).toMatchObject({ allowed: true });
  });

  it("is counted with its code, as those that succeed are", async () => {
    const { client, told } = await served();
    await call(client, client.checkRateLimit, check());
    await call(client, client.checkRateLimit, check({ identifier: "" })).catch(() => {});
    expect(told.calls).toEqual(["grpc CheckRateLimit OK", "grpc CheckRateLimit INVALID_ARGUMENT"]);
  });
});
