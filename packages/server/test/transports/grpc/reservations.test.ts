import { status } from "@grpc/grpc-js";
import { eventually } from "headgate-testkit/eventually";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { rule } from "../../checks/fixtures.ts";
import { by, call, check, type Served, served } from "./fixtures.ts";
import { Dimension, type ReserveCheck, type ReserveRequest } from "./generated/headgate/v1/rate_limiter.ts";

const rules = [
  rule({ rule_id: "tokens", endpoint_pattern: "/tokens", limit: 1_000 }),
  rule({ rule_id: "address", endpoint_pattern: "/tokens", dimension: "ip", limit: 5 }),
  rule({
    rule_id: "streams",
    endpoint_pattern: "/streams",
    limit: 1,
    algorithm: "concurrency",
    window_seconds: null,
  }),
];

const TOKENS: ReserveCheck = {
  identifier: "42",
  dimension: Dimension.DIMENSION_USER,
  endpoint: "/tokens",
  cost: 400,
  method: "",
};
const ADDRESS: ReserveCheck = { ...TOKENS, identifier: "10.0.0.1", dimension: Dimension.DIMENSION_IP, cost: undefined };
const STREAM: ReserveCheck = { ...TOKENS, endpoint: "/streams", cost: undefined };

let made: Served;
let client: Served["client"];
beforeEach(async () => {
  made = await served(rules);
  client = made.client;
});

function asked(...checks: ReserveCheck[]): ReserveRequest {
  return { checks, forMs: undefined, maxWaitMs: 0, idempotencyKey: "" };
}

/** With the key of a program that only checks. */
function reserve(request: ReserveRequest, key = "check") {
  return call(client, client.reserve, request, by(key));
}

async function reserved(...checks: ReserveCheck[]): Promise<string> {
  return (await reserve(asked(...checks))).reservationId;
}

function settle(reservationId: string, costs: Record<string, number>, key = "check") {
  return call(client, client.settle, { reservationId, costs }, by(key));
}

/** What is left of the tokens. */
async function left(): Promise<number> {
  return (await call(client, client.checkRateLimit, check({ endpoint: "/tokens", cost: 0 }))).remaining;
}

describe("Reserve", () => {
  it("reserves under the limits of several identities and endpoints, and says what", async () => {
    const answer = await reserve({ ...asked(TOKENS, ADDRESS, STREAM), forMs: 20_000 });
    expect(answer).toMatchObject({
      allowed: true,
      expiresAtMs: made.clock.now() / 1000 + 20_000,
      reserved: [
        { ruleId: "tokens", identifier: "42", dimension: Dimension.DIMENSION_USER, cost: 400, slots: false },
        { ruleId: "address", identifier: "10.0.0.1", dimension: Dimension.DIMENSION_IP, cost: 1, slots: false },
        { ruleId: "streams", identifier: "42", dimension: Dimension.DIMENSION_USER, cost: 1, slots: true },
      ],
      decision: {
        allowed: true,
        limits: [
          { ruleId: "tokens", remaining: 600 },
          { ruleId: "address", remaining: 4 },
          { ruleId: "streams", remaining: 0 },
        ],
      },
    });
    expect(answer.reservationId).not.toBe("");
    expect(await left()).toBe(600);
  });

  it("lasts a minute unless stated", async () => {
    expect((await reserve(asked(TOKENS))).expiresAtMs).toBe(made.clock.now() / 1000 + 60_000);
  });

  it("reserves nothing if one limit denies, and says which", async () => {
    await reserved({ ...ADDRESS, cost: 5 });
    expect(await reserve(asked(TOKENS, ADDRESS))).toMatchObject({
      allowed: false,
      reservationId: "",
      expiresAtMs: 0,
      reserved: [],
      decision: { allowed: false, ruleId: "address", retryAfterMs: 60_000 },
    });
    expect(await left()).toBe(1_000);
  });

  it("is allowed without a reservation if no rule matches", async () => {
    const answer = await reserve(asked({ ...TOKENS, endpoint: "/other" }));
    expect(answer).toMatchObject({ allowed: true, reservationId: "", reserved: [] });
  });

  it("waits for a slot", async () => {
    const first = await reserved(STREAM);
    const second = reserve({ ...asked(STREAM), maxWaitMs: 30_000 });
    await call(client, client.release, { reservationId: first }, by("check"));
    expect((await second).allowed).toBe(true);
  });

  it("reserves nothing for a client that stops waiting", async () => {
    const first = await reserved(STREAM);
    const reserving = vi.spyOn(made.reservations, "reserve");
    const request = { ...asked(TOKENS, STREAM), maxWaitMs: 30_000 };
    const ended = new Promise<number | undefined>((resolve) => {
      const waiting = client.reserve(request, by("check"), {}, (error) => resolve(error?.code));
      void eventually("it waits", async () => reserving.mock.calls.length === 1).then(() => waiting.cancel());
    });
    expect(await ended).toBe(status.CANCELLED);
    await eventually("the call has ended", async () => made.told.calls.includes("grpc Reserve CANCELLED"));
    await call(client, client.release, { reservationId: first }, by("check"));
    expect(await left()).toBe(1_000);
    expect((await reserve(asked(STREAM))).allowed).toBe(true);
    expect(made.mistakes).toEqual([]);
  });

  it.each([
    [asked(), "checks"],
    [asked(...new Array<ReserveCheck>(33).fill(TOKENS)), "checks"],
    [{ ...asked(TOKENS), forMs: 0 }, "for_ms"],
    [{ ...asked(TOKENS), forMs: 3_600_001 }, "for_ms"],
    [{ ...asked(TOKENS), maxWaitMs: -1 }, "max_wait_ms"],
    [{ ...asked(TOKENS), maxWaitMs: 60_001 }, "max_wait_ms"],
    [asked(TOKENS, { ...TOKENS, cost: -1 }), "checks[1].cost"],
    [asked({ ...TOKENS, cost: 1_001 }), "checks[0].cost"],
    [asked(TOKENS, { ...TOKENS, identifier: "" }), "checks[1].identifier"],
    [asked({ ...TOKENS, dimension: Dimension.DIMENSION_UNSPECIFIED }), "checks[0].dimension"],
    [asked({ ...TOKENS, endpoint: "" }), "checks[0].endpoint"],
  ])("refuses a bad request: %#", async (request, field) => {
    await expect(reserve(request)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    // The field is named in the error of a batch.
    const { errors } = await call(client, client.reserveBatch, { reservations: [request] }, by("check"));
    expect(errors).toMatchObject([{ index: 0, code: status.INVALID_ARGUMENT, field }]);
    expect(await left()).toBe(1_000);
  });
});

describe("Settle, Extend and Release", () => {
  it.each([
    [{ tokens: 150 }, 850],
    [{ tokens: 700 }, 300],
    [{}, 600],
  ])("settle with %j", async (costs, remaining) => {
    await settle(await reserved(TOKENS), costs);
    expect(await left()).toBe(remaining);
  });

  it("settle once: again with the same costs, but not with others", async () => {
    const id = await reserved(TOKENS);
    await settle(id, { tokens: 100 });
    await settle(id, { tokens: 100 });
    await expect(settle(id, { tokens: 200 })).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
    expect(await left()).toBe(900);
  });

  it("refuse costs of other rules and negative ones", async () => {
    const id = await reserved(TOKENS);
    for (const costs of [{ none: 1 }, { tokens: -1 }]) {
      await expect(settle(id, costs)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    }
    expect(await left()).toBe(600);
  });

  it("extend a reservation, which otherwise expires", async () => {
    const [kept, lost] = [await reserved(TOKENS), await reserved(TOKENS)];
    const extended = await call(client, client.extend, { reservationId: kept, forMs: 120_000 }, by("check"));
    expect(extended.expiresAtMs).toBe(made.clock.now() / 1000 + 120_000);
    await made.clock.advance(59_000);
    expect((await made.reservations.list(10)).map(({ id }) => id).sort()).toEqual([kept, lost].sort());
    await made.clock.advance(5_000);
    await eventually("one has ended", async () => (await made.reservations.list(10)).length === 1);
    await expect(settle(lost, { tokens: 1 })).rejects.toMatchObject({ code: status.ABORTED });
    await settle(kept, { tokens: 1 });
  });

  it.each([0, 999, 3_600_001])("refuse to extend by %i ms", async (forMs) => {
    const reservationId = await reserved(TOKENS);
    const extending = call(client, client.extend, { reservationId, forMs }, by("check"));
    await expect(extending).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it("refuse an idempotency key, which they do not need", async () => {
    const metadata = by("check");
    metadata.set("x-idempotency-key", "1");
    const refused = { code: status.INVALID_ARGUMENT, details: expect.stringContaining("x-idempotency-key") };
    const reservationId = await reserved(TOKENS);
    await expect(call(client, client.release, { reservationId }, metadata)).rejects.toMatchObject(refused);
    await expect(call(client, client.settle, { reservationId, costs: {} }, metadata)).rejects.toMatchObject(refused);
    const extending = call(client, client.extend, { reservationId, forMs: 90_000 }, metadata);
    await expect(extending).rejects.toMatchObject(refused);
    expect(await left()).toBe(600);
  });

  it("release everything", async () => {
    const reservationId = await reserved(TOKENS, STREAM);
    await call(client, client.release, { reservationId }, by("check"));
    expect(await left()).toBe(1_000);
    expect((await reserve(asked(STREAM))).allowed).toBe(true);
  });

  it("do not know an id that does not exist, nor one of another key", async () => {
    made.keys.add("other", ["check"]);
    const theirs = await reserved(TOKENS);
    for (const reservationId of ["none", theirs]) {
      const refused = { code: status.NOT_FOUND, details: expect.stringContaining("there is no reservation") };
      await expect(settle(reservationId, {}, "other")).rejects.toMatchObject(refused);
      const extend = call(client, client.extend, { reservationId, forMs: 120_000 }, by("other"));
      await expect(extend).rejects.toMatchObject(refused);
      await expect(call(client, client.release, { reservationId }, by("other"))).rejects.toMatchObject(refused);
    }
    expect(await left()).toBe(600);
    // With the role write, reservations of others can be used.
    await settle(theirs, { tokens: 1 }, "admin");
    expect(await left()).toBe(999);
  });
});

describe("batches of reservations", () => {
  it("reserve, extend and settle each by itself, in order", async () => {
    const requests = [asked({ ...TOKENS, cost: 600 }), asked(), asked(TOKENS), asked({ ...TOKENS, cost: 500 })];
    const { responses, errors } = await call(client, client.reserveBatch, { reservations: requests }, by("check"));
    expect(responses.map(({ allowed }) => allowed)).toEqual([true, false, true, false]);
    expect(errors).toMatchObject([{ index: 1, field: "checks" }]);
    const [first, , third] = responses.map(({ reservationId }) => reservationId);
    const extensions = [first, "none", third].map((reservationId) => ({ reservationId, forMs: 90_000 }));
    const extended = await call(client, client.extendBatch, { reservations: extensions }, by("check"));
    expect(extended.responses.map(({ expiresAtMs }) => expiresAtMs)).toEqual([
      made.clock.now() / 1000 + 90_000,
      0,
      made.clock.now() / 1000 + 90_000,
    ]);
    expect(extended.errors).toMatchObject([{ index: 1, code: status.NOT_FOUND }]);
    const settlements = [
      { reservationId: "none", costs: {} },
      { reservationId: first, costs: { tokens: 1 } },
    ];
    const settled = await call(client, client.settleBatch, { reservations: settlements }, by("check"));
    expect(settled.errors).toMatchObject([{ index: 0, code: status.NOT_FOUND }]);
    const released = await call(
      client,
      client.releaseBatch,
      { reservations: [{ reservationId: third }, { reservationId: first }] },
      by("check"),
    );
    expect(released.errors).toMatchObject([{ index: 1, code: status.FAILED_PRECONDITION }]);
    expect(await left()).toBe(999);
  });

  it("have at most 1,000 items", async () => {
    const reservations = new Array(1_001).fill({ reservationId: "none" });
    await expect(call(client, client.releaseBatch, { reservations }, by("check"))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("1001"),
    });
  });
});

describe("access", () => {
  it.each(["read", "write"])("needs the role check, not %s", async (key) => {
    await expect(reserve(asked(TOKENS), key)).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
    await expect(settle("none", {}, key)).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
  });

  it("counts reservations as checks in the limit of the node", async () => {
    const rates = { checksLimit: "3/m", configReadsLimit: "1/m", configWritesLimit: "1/m" };
    const selfLimits = new SelfLimits({ rates, clock: made.clock });
    ({ client } = await served(rules, { world: made, selfLimits }));
    const id = await reserved(TOKENS, ADDRESS);
    const two = [{ reservationId: "none" }, { reservationId: "none" }];
    await call(client, client.releaseBatch, { reservations: two }, by("check"));
    await expect(settle(id, {})).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });
});
