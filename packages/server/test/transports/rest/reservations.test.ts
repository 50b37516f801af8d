import { eventually as patiently } from "headgate-testkit/eventually";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Ask, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeEach(async () => {
  service = await startService({
    rules: [
      ruleOf({
        rule_id: "tokens",
        name: "Tokens",
        endpoint_pattern: "/tokens",
        limit: 1_000,
        algorithm: "fixed_window",
      }),
      ruleOf({ rule_id: "address", name: "Address", endpoint_pattern: "/tokens", dimension: "ip", limit: 5 }),
      ruleOf({
        rule_id: "streams",
        name: "Streams",
        endpoint_pattern: "/streams",
        limit: 1,
        algorithm: "concurrency",
        window_seconds: null,
      }),
      ruleOf({ rule_id: "both", name: "Both", endpoint_pattern: "/streams/tokens", limit: 5 }),
      ruleOf({
        rule_id: "both-streams",
        name: "Streams of both",
        endpoint_pattern: "/streams/tokens",
        limit: 1,
        algorithm: "concurrency",
        window_seconds: null,
      }),
    ],
  });
});
afterEach(() => service.stop());

const TOKENS = { identifier: "42", endpoint: "/tokens", cost: 400 };
const STREAM = { identifier: "42", endpoint: "/streams" };
const ADDRESS = { identifier: "10.0.0.1", dimension: "ip", endpoint: "/tokens" };

function ask(method: string, path: string, body?: object, more: Ask = {}) {
  return service.ask(method, `/api/v1/${path}`, { ...(body && { body }), key: service.keys.check, ...more });
}

function reserve(...checks: object[]) {
  return ask("POST", "reservations", { checks });
}

/** What is left of the tokens. */
async function left(): Promise<number> {
  return (await ask("POST", "check", { ...TOKENS, cost: 0 })).body.remaining;
}

describe("POST /api/v1/reservations", () => {
  it("reserves under the limits of several identities and endpoints, and says what", async () => {
    const { status, body, headers } = await reserve(TOKENS, ADDRESS);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      allowed: true,
      reserved: [
        { rule_id: "tokens", dimension: "user", identifier: "42", cost: 400, slots: false },
        { rule_id: "address", dimension: "ip", identifier: "10.0.0.1", cost: 1 },
      ],
      limits: [
        { rule_id: "tokens", remaining: 600 },
        { rule_id: "address", remaining: 4 },
      ],
    });
    expect(body.expires_at_ms).toBe(service.clock.now() / 1000 + 60_000);
    expect(headers.get("ratelimit-policy")).toContain('"tokens";q=1000;w=60');
    expect((await ask("GET", `reservations/${body.reservation_id}`)).body).toMatchObject({ reserved: body.reserved });
    const listed = await ask("GET", "reservations", undefined, { key: service.keys.read });
    expect(listed.body.reservations).toMatchObject([{ reservation_id: body.reservation_id }]);
  });

  it("reserves nothing if one limit denies, and says which", async () => {
    await reserve({ ...ADDRESS, cost: 5 });
    const denied = await reserve(TOKENS, ADDRESS);
    expect(denied).toMatchObject({ status: 429, body: { code: "quota_exceeded", "violated-policies": ["address"] } });
    expect(await left()).toBe(1_000);
  });

  it("adds up checks that one rule counts together", async () => {
    const { body } = await reserve(TOKENS, { ...TOKENS, cost: 100 });
    expect(body.reserved).toMatchObject([{ rule_id: "tokens", cost: 500 }]);
    expect(await left()).toBe(500);
  });

  it("reserves nothing for a client that stops waiting", async () => {
    const { body } = await reserve(STREAM);
    const gone = new AbortController();
    const waiting = fetch(`${service.url}/api/v1/reservations`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.keys.check}`, "content-type": "application/json" },
      body: JSON.stringify({ checks: [TOKENS, STREAM], max_wait_ms: 30_000 }),
      signal: gone.signal,
    });
    // Only the slot is missing, and this one is behind it in line.
    const behind = ask("POST", "reservations", { checks: [{ ...STREAM }], max_wait_ms: 60_000 });
    gone.abort();
    await expect(waiting).rejects.toThrow();
    await ask("DELETE", `reservations/${body.reservation_id}`);
    expect((await behind).status).toBe(201);
    expect(await left()).toBe(1_000);
  });

  it("is allowed without a reservation if no rule matches", async () => {
    expect(await reserve({ identifier: "42", endpoint: "/other" })).toMatchObject({
      status: 201,
      body: { allowed: true, reservation_id: null, reserved: [] },
    });
  });

  it.each([
    [{ checks: [] }, "checks"],
    [{ checks: [TOKENS], for_ms: 0 }, "for_ms"],
    [{ checks: [TOKENS], max_wait_ms: -1 }, "max_wait_ms"],
    [{ checks: [{ ...TOKENS, cost: -1 }] }, "checks[0].cost"],
    [{ checks: [{ ...TOKENS, cost: 1_001 }] }, "checks[0].cost"],
    [
      {
        checks: [
          { ...TOKENS, endpoint: "/other" },
          { ...TOKENS, cost: 1_001 },
        ],
      },
      "checks[1].cost",
    ],
    [{ checks: [ADDRESS, { ...TOKENS, cost: 600 }, { ...TOKENS, cost: 600 }] }, "checks[2].cost"],
    [{ checks: [{ ...TOKENS, identifier: "" }] }, "checks[0].identifier"],
  ])("refuses %j", async (body, field) => {
    expect(await ask("POST", "reservations", body)).toMatchObject({
      status: 400,
      body: { code: "validation_failed", errors: [{ field }] },
    });
    expect(await left()).toBe(1_000);
  });
});

describe("a reservation", () => {
  async function made(): Promise<string> {
    return (await reserve(TOKENS)).body.reservation_id;
  }

  it.each([
    [{ tokens: 150 }, 850],
    [{ tokens: 700 }, 300],
    [{}, 600],
  ])("is settled with %j", async (costs, remaining) => {
    const id = await made();
    expect((await ask("POST", `reservations/${id}/settle`, { costs })).status).toBe(200);
    expect(await left()).toBe(remaining);
  });

  it("is settled once: again with the same costs, but not with others", async () => {
    const id = await made();
    const settle = (tokens: number) => ask("POST", `reservations/${id}/settle`, { costs: { tokens } });
    expect((await settle(100)).status).toBe(200);
    expect((await settle(100)).status).toBe(200);
    expect(await settle(200)).toMatchObject({ status: 409, body: { code: "reservation_settled" } });
    expect(await left()).toBe(900);
  });

  it("is released", async () => {
    const id = await made();
    expect((await ask("DELETE", `reservations/${id}`)).status).toBe(204);
    expect(await left()).toBe(1_000);
  });

  it("is not released for others without an audit entry", async () => {
    const id = await made();
    const remaining = await left();
    const failing = vi.spyOn(service.database.audit, "append").mockRejectedValue(new Error("disk full"));
    const release = (): ReturnType<typeof ask> => {
      return ask("DELETE", `reservations/${id}`, undefined, { key: service.keys.all });
    };
    expect((await release()).status).toBe(500);
    expect(await left()).toBe(remaining);
    failing.mockRestore();
    expect((await release()).status).toBe(204);
    expect(await left()).toBe(1_000);
  });

  it("is audited if it is released for others, or by a person", async () => {
    const released = async (): Promise<unknown> => {
      const query = "audit?action=reservation.release&limit=1";
      return (await ask("GET", query, undefined, { key: service.keys.read })).body.entries;
    };
    await ask("DELETE", `reservations/${await made()}`);
    expect(await released()).toEqual([]);
    const id = await made();
    await ask("DELETE", `reservations/${id}`, undefined, { key: service.keys.all });
    expect(await released()).toMatchObject([
      {
        actor_name: "all",
        subject: `reservation:${id}`,
        before: { reserved: [{ rule: "tokens", key: "user:42", cost: 400 }] },
        after: null,
      },
    ]);
    // The same key that made it, but in the dashboard.
    const mine = await ask("POST", "reservations", { checks: [TOKENS] }, { key: service.keys.all });
    const session = await ask("POST", "session", { key: service.keys.all }, { key: null });
    const [cookie] = (session.headers.get("set-cookie") ?? "").split(";");
    const headers = { cookie, "x-csrf-token": session.body.csrf_token };
    const path = `reservations/${mine.body.reservation_id}`;
    expect((await ask("DELETE", path, undefined, { key: null, headers })).status).toBe(204);
    expect(await released()).toMatchObject([{ subject: `reservation:${mine.body.reservation_id}` }]);
  });

  it("expires unless it is extended, and returns everything", async () => {
    const id = await made();
    await service.clock.advance(20_000);
    const extended = await ask("PATCH", `reservations/${id}`, { for_ms: 120_000 });
    expect(extended.body.expires_at_ms).toBe(service.clock.now() / 1000 + 120_000);
    await service.clock.advance(25_000);
    expect(await left()).toBe(600);
    await service.clock.advance(100_000);
    await patiently("it has ended", async () => (await ask("GET", `reservations/${id}`)).status !== 200);
    const late = await ask("POST", `reservations/${id}/settle`, { costs: { tokens: 100 } });
    expect([404, 409]).toContain(late.status);
    expect(await left()).toBe(1_000);
  });

  it.each([
    ["GET", "reservations/none", undefined],
    ["PATCH", "reservations/none", { for_ms: 1_000 }],
    ["POST", "reservations/none/settle", { costs: {} }],
    ["DELETE", "reservations/none", undefined],
  ])("is not found: %s %s", async (method, path, body) => {
    expect(await ask(method, path, body)).toMatchObject({ status: 404, body: { code: "reservation_not_found" } });
  });

  it("rejects costs for rules without a reservation in it", async () => {
    const id = await made();
    const wrong = await ask("POST", `reservations/${id}/settle`, { costs: { none: 1 } });
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ in: "body", field: "costs.none" }] } });
    expect(await left()).toBe(600);
  });
});

describe("a reservation of another API key", () => {
  /** A key with the role check, in a namespace of its own unless one is given. */
  async function anotherKey(namespace?: string): Promise<string> {
    const body = { name: "another", roles: ["check"], ...(namespace && { namespace }) };
    return (await service.ask("POST", "/api/v1/keys", { body })).body.key;
  }

  const uses = [
    ["GET", "", undefined],
    ["PATCH", "", { for_ms: 120_000 }],
    ["POST", "/settle", { costs: { tokens: 1 } }],
    ["DELETE", "", undefined],
  ] as const;

  it.each(uses)("is like one that does not exist: %s", async (method, rest, body) => {
    const { reservation_id: id } = (await reserve(TOKENS)).body;
    const key = await anotherKey();
    const refused = await ask(method, `reservations/${id}${rest}`, body, { key });
    const unknown = await ask(method, `reservations/none${rest}`, body, { key });
    expect(refused).toMatchObject({ status: 404, body: { code: "reservation_not_found" } });
    expect(refused.text.replaceAll(id, "none")).toBe(unknown.text);
    expect(await left()).toBe(600);
    // Nothing has changed for its owner.
    expect((await ask("GET", `reservations/${id}`)).body.expires_at_ms).toBe(service.clock.now() / 1000 + 60_000);
  });

  it.each(uses)("can be used with the role write: %s", async (method, rest, body) => {
    const { reservation_id: id } = (await reserve(TOKENS)).body;
    const used = await ask(method, `reservations/${id}${rest}`, body, { key: service.keys.all });
    expect(used.status).toBeLessThan(300);
  });

  it("can be used by a key with the same namespace", async () => {
    const [made, used] = [await anotherKey("shop"), await anotherKey("shop")];
    const { body } = await ask("POST", "reservations", { checks: [TOKENS] }, { key: made });
    const listed = await ask("GET", "reservations", undefined, { key: service.keys.read });
    expect(listed.body.reservations).toMatchObject([{ owner: "shop", made_at_ms: service.clock.now() / 1000 }]);
    const id = body.reservation_id;
    expect((await ask("POST", `reservations/${id}/settle`, { costs: { tokens: 1 } }, { key: used })).status).toBe(200);
    expect(await left()).toBe(999);
  });

  it("stays unknown after it was settled", async () => {
    const { reservation_id: id } = (await reserve(TOKENS)).body;
    await ask("POST", `reservations/${id}/settle`, { costs: { tokens: 1 } });
    const again = await ask("POST", `reservations/${id}/settle`, { costs: { tokens: 1 } }, { key: await anotherKey() });
    expect(again).toMatchObject({ status: 404, body: { code: "reservation_not_found" } });
  });
});

describe("a limit on concurrent tasks", () => {
  it("gives a reservation one slot until it is settled, whatever its cost", async () => {
    const { status, body, headers } = await reserve(TOKENS, { ...STREAM, cost: 7 }, STREAM);
    expect(status).toBe(201);
    expect(body.reserved).toMatchObject([
      { rule_id: "tokens", cost: 400, slots: false },
      { rule_id: "streams", dimension: "user", identifier: "42", cost: 1, slots: true },
    ]);
    expect(headers.get("ratelimit-policy")).toContain('"streams";q=1;qu="concurrent-requests"');
    const denied = await reserve(TOKENS, STREAM);
    expect(denied).toMatchObject({ status: 429, body: { code: "quota_exceeded", "violated-policies": ["streams"] } });
    expect(await left()).toBe(600);
    expect((await reserve({ ...STREAM, identifier: "43" })).status).toBe(201);
    await ask("POST", `reservations/${body.reservation_id}/settle`, { costs: { tokens: 100 } });
    expect(await left()).toBe(900);
    expect((await reserve(STREAM)).status).toBe(201);
  });

  it("has its slot back when a reservation is released", async () => {
    const { body } = await reserve(STREAM);
    expect((await ask("DELETE", `reservations/${body.reservation_id}`)).status).toBe(204);
    expect((await reserve(STREAM)).status).toBe(201);
  });

  it("has its slot back when a reservation expires, and not before", async () => {
    const { body } = await reserve(STREAM);
    await service.clock.advance(20_000);
    await ask("PATCH", `reservations/${body.reservation_id}`, { for_ms: 120_000 });
    await service.clock.advance(119_000);
    expect((await reserve(STREAM)).status).toBe(429);
    await service.clock.advance(10_000);
    await patiently("the slot is free", async () => (await reserve(STREAM)).status === 201);
  });

  it("is not applied by checks, refunds and penalties, which say so", async () => {
    await reserve(STREAM);
    for (const path of ["check", "refund", "penalize"]) {
      expect(await ask("POST", path, STREAM)).toMatchObject({
        status: 200,
        body: { allowed: true, rule_id: null, not_applied: ["streams"] },
      });
    }
    expect((await ask("POST", "check", TOKENS)).body).not.toHaveProperty("not_applied");
    const both = { ...STREAM, endpoint: "/streams/tokens" };
    expect((await ask("POST", "check", both)).body).toMatchObject({ rule_id: "both", not_applied: ["both-streams"] });
    const { endpoint } = STREAM;
    const identities = ["42", "43"].map((identifier) => ({ dimension: "user", identifier }));
    expect((await ask("POST", "check", { identities, endpoint })).body).toMatchObject({ not_applied: ["streams"] });
    const explained = await ask("POST", "explain", STREAM, { key: service.keys.read });
    expect(explained.body).toMatchObject({
      summary: "Allowed: only limits on concurrent tasks match, which checks do not apply.",
      rules: [{ rule_id: "streams", applies: false, why: expect.stringContaining("only reservations take its slots") }],
    });
  });

  it("has its slots back after a reset", async () => {
    await reserve(STREAM);
    await ask("POST", "reset", { identifier: "42" }, { key: service.keys.all });
    expect((await reserve(STREAM)).status).toBe(201);
  });
});
