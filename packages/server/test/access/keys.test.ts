import { afterEach, expect, it } from "vitest";
import { eventually, type Service, startService } from "../transports/rest/service.ts";

let service: Service;
afterEach(() => service.stop());

it("makes a key that is shown once, and opens what its roles say", async () => {
  service = await startService();
  const body = { name: "shop", roles: ["read"] };
  const made = await service.ask("POST", "/api/v1/keys", { body, key: service.keys.write });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ name: "shop", roles: ["read"], expires_at: null, revoked_at: null });
  expect(made.headers.get("cache-control")).toBe("no-store");
  const { key } = made.body;
  await eventually(async () => expect((await service.ask("GET", "/api/v1/rules", { key })).status).toBe(200), 1_000);
  const listed = await service.ask("GET", "/api/v1/keys");
  expect(listed.text).toContain(made.body.key_id);
  expect(listed.text).not.toContain(key.slice(-43));
  expect(listed.text).not.toContain("hash");
  const audit = await service.ask("GET", `/api/v1/audit?subject=key:${made.body.key_id}`);
  expect(audit.body.entries).toMatchObject([{ action: "key.create", actor_name: "write" }]);
  expect(audit.text).not.toContain(key.slice(-43));
});

it("gives keys a namespace: their own, or one that is shared", async () => {
  service = await startService();
  const make = async (more: object) =>
    (await service.ask("POST", "/api/v1/keys", { body: { name: "shop", roles: ["check"], ...more } })).body;
  const own = await make({});
  expect(own.namespace).toBe(own.key_id);
  const rotated = await make({ namespace: own.key_id });
  expect(rotated.namespace).toBe(own.key_id);
  const { body } = await service.ask("GET", "/api/v1/keys");
  const listed = body.keys.filter(({ namespace }: { namespace: string }) => namespace === own.key_id);
  expect(listed).toHaveLength(2);
});

it("revokes a key within a second", async () => {
  service = await startService();
  const { body } = await service.ask("POST", "/api/v1/keys", { body: { name: "shop", roles: ["check", "read"] } });
  const read = () => service.ask("GET", "/api/v1/rules", { key: body.key });
  await eventually(async () => expect((await read()).status).toBe(200), 1_000);
  const revoked = await service.ask("DELETE", `/api/v1/keys/${body.key_id}`);
  expect(revoked.status).toBe(200);
  expect(revoked.body.revoked_at).not.toBeNull();
  await eventually(async () => expect((await read()).status).toBe(401), 1_000);
  const none = await service.ask("DELETE", "/api/v1/keys/nothing");
  expect([none.status, none.body.code]).toEqual([404, "key_not_found"]);
});

it("makes keys that expire", async () => {
  service = await startService();
  const body = { name: "shop", roles: ["read"], duration_seconds: 60 };
  const made = await service.ask("POST", "/api/v1/keys", { body });
  const { key } = made.body;
  await eventually(async () => expect((await service.ask("GET", "/api/v1/rules", { key })).status).toBe(200));
  await service.clock.advance(60_000);
  expect((await service.ask("GET", "/api/v1/rules", { key })).status).toBe(401);
});

it("keeps no answer with a secret in it: an idempotency key is refused", async () => {
  service = await startService();
  const headers = { "x-idempotency-key": "once" };
  const { status, body } = await service.ask("POST", "/api/v1/keys", { body: { name: "a", roles: ["read"] }, headers });
  expect([status, body.code]).toEqual([400, "idempotency_not_possible"]);
  expect((await service.ask("GET", "/api/v1/keys")).body.keys).toHaveLength(4);
});

it.each([
  [{ name: "", roles: ["read"] }, "name"],
  [{ name: "a", roles: [] }, "roles"],
  [{ name: "a", roles: ["root"] }, "roles[0]"],
  [{ name: "a", roles: ["read"], expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  [{ name: "a", roles: ["read"], key: "mine" }, "key"],
  [{ name: "a", roles: ["check"], namespace: "a:b" }, "namespace"],
  [{ name: "a", roles: ["check"], namespace: "" }, "namespace"],
])("refuses to make %j", async (body, field) => {
  service = await startService();
  const answer = await service.ask("POST", "/api/v1/keys", { body });
  expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
});
