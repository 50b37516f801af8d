import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeKey } from "../../../src/access/secret.ts";
import { WrongKeys } from "../../../src/access/wrong-keys.ts";
import { type Answer, eventually, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService({
    parts: () => ({ wrongKeys: new WrongKeys({ perMinute: 5, log: { warn() {} } as never }) }),
  });
});
afterAll(() => service.stop());

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
}

function cookieOf({ headers }: Answer): string {
  return headers.get("set-cookie")?.split(";")[0] ?? "";
}

async function signIn(key: string): Promise<SignedIn> {
  const answer = await service.ask("POST", "/api/v1/session", { key: null, body: { key } });
  expect(answer.status).toBe(200);
  return { cookie: cookieOf(answer), csrf: answer.body.csrf_token };
}

function as({ cookie, csrf }: Partial<SignedIn>, method: string, path: string, body?: unknown) {
  const headers = { ...(cookie && { cookie }), ...(csrf && { "x-csrf-token": csrf }) };
  return service.ask(method, path, { key: null, headers, ...(body === undefined ? {} : { body }) });
}

describe("a session", () => {
  it("is started with an API key, in a cookie that scripts cannot read and other sites cannot send", async () => {
    const { headers, body } = await service.ask("POST", "/api/v1/session", {
      key: null,
      body: { key: service.keys.all },
    });
    expect(headers.get("set-cookie")).toMatch(
      /^headgate_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({ name: "all", roles: ["check", "read", "write"] });
    expect(headers.get("set-cookie")).not.toContain(body.csrf_token);
  });

  it("has a cookie for encrypted connections only, where they are encrypted", async () => {
    const { headers } = await service.ask("POST", "/api/v1/session", {
      key: null,
      body: { key: service.keys.all },
      headers: { "x-forwarded-proto": "https" },
    });
    expect(headers.get("set-cookie")).toMatch(/; Secure$/);
  });

  it("reads with the cookie alone, and changes only with the CSRF token", async () => {
    const { cookie, csrf } = await signIn(service.keys.all);
    expect((await as({ cookie }, "GET", "/api/v1/rules")).status).toBe(200);
    const rule = ruleOf({ rule_id: "made", endpoint_pattern: "/made" });
    for (const wrong of [undefined, "x", `${csrf}x`]) {
      const refused = await as({ cookie, ...(wrong && { csrf: wrong }) }, "POST", "/api/v1/rules", rule);
      expect([refused.status, refused.body.code]).toEqual([403, "csrf_token_required"]);
    }
    // A check by GET charges quota, and an explanation by POST might be sent by a form of another site.
    expect((await as({ cookie }, "GET", "/api/v1/auth")).body.code).toBe("csrf_token_required");
    expect((await as({ cookie }, "POST", "/api/v1/explain", {})).body.code).toBe("csrf_token_required");
    expect((await as({ cookie, csrf }, "POST", "/api/v1/rules", rule)).status).toBe(201);
    const { body } = await as({ cookie }, "GET", "/api/v1/audit?limit=1");
    expect(body.entries[0]).toMatchObject({ action: "rule.create", actor_name: "all" });
  });

  it("has the roles of its key, and needs the role read", async () => {
    const { cookie, csrf } = await signIn(service.keys.read);
    const refused = await as({ cookie, csrf }, "DELETE", "/api/v1/rules/nothing");
    expect([refused.status, refused.body.needs]).toEqual([403, "write"]);
    const check = await service.ask("POST", "/api/v1/session", { key: null, body: { key: service.keys.check } });
    expect([check.status, check.body.needs, check.headers.get("set-cookie")]).toEqual([403, "read", null]);
  });

  it("is returned to the page that asks for it, with its CSRF token", async () => {
    expect((await as({}, "GET", "/api/v1/session")).body).toEqual({ session: null });
    const { cookie, csrf } = await signIn(service.keys.read);
    const { body } = await as({ cookie }, "GET", "/api/v1/session");
    expect(body.session).toMatchObject({ name: "read", roles: ["read"], csrf_token: csrf });
  });

  it("ends when the cookie is removed", async () => {
    const answer = await service.ask("DELETE", "/api/v1/session", { key: null });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("set-cookie")).toContain("headgate_session=; ");
    expect(answer.headers.get("set-cookie")).toContain("Max-Age=0");
  });

  it("ends with its key, and after twelve hours", async () => {
    const { record, secret } = makeKey("leaving", ["read"]);
    await service.database.keys.add(record, { id: "system", name: "test" });
    let session: SignedIn | undefined;
    await eventually(async () => {
      session = await signIn(secret);
    });
    expect((await as({ ...session }, "GET", "/api/v1/rules")).status).toBe(200);
    await service.database.keys.revoke(record.key_id, { id: "system", name: "test" });
    await eventually(async () => expect((await as({ ...session }, "GET", "/api/v1/rules")).status).toBe(401));
    const other = await signIn(service.keys.read);
    await service.clock.advance(12 * 3_600_000 - 1);
    expect((await as(other, "GET", "/api/v1/rules")).status).toBe(200);
    await service.clock.advance(2);
    expect((await as(other, "GET", "/api/v1/rules")).status).toBe(401);
  });

  it("is not started with a wrong key, and too many of them are not compared", async () => {
    const statuses = new Set<number>();
    for (let i = 0; i < 8; i += 1) {
      const answer = await service.ask("POST", "/api/v1/session", { key: null, body: { key: `wrong-${i}` } });
      expect(answer.headers.get("set-cookie")).toBeNull();
      statuses.add(answer.status);
    }
    expect([...statuses]).toEqual([401, 429]);
  });
});
