import { afterEach, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

const NEW = ruleOf({ rule_id: "new", endpoint_pattern: "/new" });
const once = (key: string, more: Record<string, string> = {}) => ({ headers: { "x-idempotency-key": key, ...more } });

it("answers a write that is sent again as it did the first time, and does it once", async () => {
  service = await startService();
  const first = await service.ask("POST", "/api/v1/rules", { body: NEW, ...once("k") });
  const again = await service.ask("POST", "/api/v1/rules", { body: NEW, ...once("k") });
  expect(first.status).toBe(201);
  expect(first.headers.get("idempotency-replayed")).toBeNull();
  expect(again.status).toBe(201);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(again.text).toBe(first.text);
  for (const name of ["etag", "location", "content-type"])
    expect(again.headers.get(name)).toBe(first.headers.get(name));
  const { body } = await service.ask("GET", "/api/v1/audit?subject=rule:new");
  expect(body.entries).toHaveLength(1);
});

it("answers without a body where there was none", async () => {
  service = await startService();
  await service.ask("DELETE", "/api/v1/rules/orders", once("k"));
  const again = await service.ask("DELETE", "/api/v1/rules/orders", once("k"));
  expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([204, "", "true"]);
});

it("refuses another request under the same key", async () => {
  service = await startService();
  await service.ask("POST", "/api/v1/rules", { body: NEW, ...once("k") });
  const others = [
    await service.ask("POST", "/api/v1/rules", { body: { ...NEW, limit: 9 }, ...once("k") }),
    await service.ask("PUT", "/api/v1/rules/new", { body: NEW, ...once("k") }),
    await service.ask("DELETE", "/api/v1/rules/new", once("k")),
  ];
  for (const { status, body } of others) expect([status, body.code]).toEqual([422, "idempotency_conflict"]);
  const tagged = { body: NEW, ...once("k", { "if-match": '"1"' }) };
  expect((await service.ask("POST", "/api/v1/rules", tagged)).status).toBe(422);
});

it("returns 409 while the first is in progress", async () => {
  let release = () => {};
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  service = await startService({
    parts: ({ database }) => ({
      database: {
        ...database,
        users: {
          get: (id) => database.users.get(id),
          ids: (most) => database.users.ids(most),
          list: (query) => database.users.list(query),
          import: (...all) => database.users.import(...all),
          setCustomLimits: (...all) => database.users.setCustomLimits(...all),
          addOverride: (...all) => database.users.addOverride(...all),
          removeOverride: (...all) => database.users.removeOverride(...all),
          setTier: async (...all) => {
            begin();
            await new Promise<void>((resolve) => {
              release = resolve;
            });
            return database.users.setTier(...all);
          },
        },
      },
    }),
  });
  const put = () => service.ask("PUT", "/api/v1/users/1/tier", { body: { tier: "premium" }, ...once("k") });
  const first = put();
  await begun;
  const second = await put();
  expect([second.status, second.body.code]).toEqual([409, "idempotency_in_progress"]);
  expect(second.headers.get("retry-after")).toBe("1");
  release();
  expect((await first).status).toBe(200);
  expect((await put()).headers.get("idempotency-replayed")).toBe("true");
});

it("keeps nothing of what failed: it can be sent again under its key", async () => {
  service = await startService({ rules: [] });
  const put = () => service.ask("PUT", "/api/v1/rules/new", { body: NEW, ...once("k") });
  expect((await put()).status).toBe(404);
  await service.ask("POST", "/api/v1/rules", { body: NEW });
  const again = await put();
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, null]);
});

it("forgets after five minutes", async () => {
  service = await startService();
  await service.ask("DELETE", "/api/v1/rules/orders", once("k"));
  await service.clock.advance(5 * 60_000 - 1);
  expect((await service.ask("DELETE", "/api/v1/rules/orders", once("k"))).status).toBe(204);
  await service.clock.advance(1);
  expect((await service.ask("DELETE", "/api/v1/rules/orders", once("k"))).status).toBe(404);
});

it("keeps the keys of each client apart", async () => {
  service = await startService();
  await service.ask("POST", "/api/v1/rules", { body: NEW, key: service.keys.write, ...once("k") });
  const other = await service.ask("POST", "/api/v1/rules", { body: NEW, key: service.keys.all, ...once("k") });
  expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([409, null]);
});

it("refuses keys that are none", async () => {
  service = await startService();
  for (const key of ["a".repeat(256), "two words", ""]) {
    const { status, body } = await service.ask("DELETE", "/api/v1/rules/orders", once(key));
    expect([status, body.errors?.[0].field]).toEqual([400, "X-Idempotency-Key"]);
  }
  const check = { body: { identifier: "1", endpoint: "/" }, ...once("two words") };
  expect((await service.ask("POST", "/api/v1/check", check)).status).toBe(400);
});
