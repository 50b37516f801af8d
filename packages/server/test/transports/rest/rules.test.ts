import { afterEach, describe, expect, it } from "vitest";
import { eventually, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

const INPUT = { name: "Search", dimension: "ip", endpoint_pattern: "/search/**", limit: 10, window_seconds: 1 };

describe("a rule", () => {
  it("is made, found, changed and removed", async () => {
    service = await startService();
    const made = await service.ask("POST", "/api/v1/rules", { body: { rule_id: "search", ...INPUT } });
    expect(made.status).toBe(201);
    expect(made.headers.get("location")).toBe("/api/v1/rules/search");
    expect(made.headers.get("etag")).toBe('"1"');
    expect(made.body).toMatchObject({ ...INPUT, rule_id: "search", mode: "enforce", version: 1 });
    const got = await service.ask("GET", "/api/v1/rules/search");
    expect(got.body).toEqual(made.body);
    const put = await service.ask("PUT", "/api/v1/rules/search", { body: { ...INPUT, limit: 20 } });
    expect(put.status).toBe(200);
    expect(put.headers.get("etag")).toBe('"2"');
    expect(put.body).toMatchObject({ limit: 20, version: 2 });
    const removed = await service.ask("DELETE", "/api/v1/rules/search");
    expect([removed.status, removed.text]).toEqual([204, ""]);
    expect((await service.ask("GET", "/api/v1/rules/search")).body.code).toBe("rule_not_found");
  });

  it("has windows that begin with the first request if configured", async () => {
    service = await startService({ rules: [] });
    const anchored = { ...INPUT, endpoint_pattern: "search", algorithm: "fixed_window", limit: 1, window_seconds: 60 };
    const body = { ...anchored, dimension: "API_KEY", anchor: "request" };
    const made = await service.ask("POST", "/api/v1/rules", { body });
    const stored = { dimension: "apikey", endpoint_pattern: "/search", anchor: "request", exact: null };
    expect([made.status, made.body]).toMatchObject([201, stored]);
    expect((await service.ask("GET", "/api/v1/rules/search")).body).toMatchObject(stored);
    const check = (dimension: string) =>
      service.ask("POST", "/api/v1/check", { body: { identifier: "k", dimension, endpoint: "/search" } });
    await eventually(async () => expect((await check("Api_Key")).body.rule_id).toBe("search"));
    const { body: denied } = await check("apikey");
    expect([denied.allowed, denied.reset_at_ms]).toEqual([false, Math.ceil(service.clock.now() / 1000) + 60_000]);
    expect((await check("galaxy")).status).toBe(400);
  });

  it("may have a trial and be enforced for a share of the keys", async () => {
    service = await startService();
    const trial = { candidate: { limit: 5, algorithm: "gcra" }, enforce_share: 0.1 };
    const made = await service.ask("POST", "/api/v1/rules", { body: { ...INPUT, ...trial } });
    const candidate = { limit: 5, algorithm: "gcra", burst: null, window_seconds: null };
    expect([made.status, made.body]).toMatchObject([201, { candidate, enforce_share: 0.1 }]);
    expect((await service.ask("GET", "/api/v1/rules/search")).body).toEqual(made.body);
    expect((await service.ask("GET", "/api/v1/rules")).body.rules).toContainEqual(made.body);
    const draft = await service.ask("POST", "/api/v1/rule-drafts", { body: { ...INPUT, ...trial } });
    expect(draft.body.rule).toMatchObject({ candidate });
  });

  it("can be sent back as it was read", async () => {
    service = await startService();
    const { body } = await service.ask("GET", "/api/v1/rules/orders");
    const put = await service.ask("PUT", "/api/v1/rules/orders", { body: { ...body, limit: 8 } });
    expect([put.status, put.body.limit, put.body.version]).toEqual([200, 8, body.version + 1]);
  });

  it("is in force at once", async () => {
    service = await startService();
    await service.ask("PUT", "/api/v1/rules/orders", { body: ruleOf({ limit: 1 }) });
    const check = (cost: number) =>
      service.ask("POST", "/api/v1/check", { body: { identifier: "7", endpoint: "/api/v1/orders", cost } });
    await eventually(async () => expect((await check(0)).body.limit).toBe(1), 1_000);
  });

  it("is written into the audit log, with what it was before", async () => {
    service = await startService();
    await service.ask("PUT", "/api/v1/rules/orders", { body: ruleOf({ limit: 9 }), key: service.keys.write });
    const { body } = await service.ask("GET", "/api/v1/audit?subject=rule:orders&action=rule.update");
    expect(body.entries).toMatchObject([
      { actor_name: "write", action: "rule.update", before: { limit: 3 }, after: { limit: 9 } },
    ]);
  });

  it.each([
    ["a limit of zero", { limit: 0 }, "limit"],
    ["an unknown algorithm", { algorithm: "magic" }, "algorithm"],
    ["a pattern of nothing", { endpoint_pattern: "" }, "endpoint_pattern"],
    ["an anchor of a token bucket", { anchor: "request" }, "anchor"],
    ["a field that nobody knows", { color: "red" }, "color"],
    ["a field that is ours", { version: 3 }, "version"],
    ["an id that leaves its place", { rule_id: "../x" }, "rule_id"],
  ])("is refused with %s, and the field is named", async (_, fields, field) => {
    service = await startService();
    const { status, body } = await service.ask("POST", "/api/v1/rules", { body: { ...INPUT, ...fields } });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: "validation_failed", errors: [{ in: "body", field }] });
    expect(body.errors[0].problem).not.toBe("");
  });

  it("is not made twice, by id or by place", async () => {
    service = await startService();
    const same = await service.ask("POST", "/api/v1/rules", { body: ruleOf() });
    expect([same.status, same.body.code]).toEqual([409, "rule_exists"]);
    const place = await service.ask("POST", "/api/v1/rules", { body: ruleOf({ rule_id: "other" }) });
    expect([place.status, place.body.code]).toEqual([409, "rule_exists"]);
  });

  it("has one name: another in the body is refused", async () => {
    service = await startService();
    const { status, body } = await service.ask("PUT", "/api/v1/rules/orders", { body: ruleOf({ rule_id: "b" }) });
    expect([status, body.errors[0].field]).toEqual([400, "rule_id"]);
  });

  it("cannot be changed where there is none", async () => {
    service = await startService();
    expect((await service.ask("PUT", "/api/v1/rules/none", { body: INPUT })).status).toBe(404);
    expect((await service.ask("DELETE", "/api/v1/rules/none")).status).toBe(404);
  });
});

describe("an update", () => {
  const put = (limit: number, ifMatch: string) =>
    service.ask("PUT", "/api/v1/rules/orders", { body: ruleOf({ limit }), headers: { "if-match": ifMatch } });

  it("is rejected if the rule was changed meanwhile", async () => {
    service = await startService();
    const [a, b] = await Promise.all([put(10, '"1"'), put(11, '"1"')]);
    expect([a.status, b.status].sort()).toEqual([200, 412]);
    const lost = a.status === 412 ? a : b;
    expect(lost.body.code).toBe("version_changed");
    expect(lost.headers.get("etag")).toBe('"2"');
    expect((await put(12, '"2"')).status).toBe(200);
  });

  it("takes a list of tags, *, and none at all", async () => {
    service = await startService();
    expect((await put(10, '"7", "1"')).status).toBe(200);
    expect((await put(11, '"7", "8"')).status).toBe(412);
    expect((await put(12, "*")).status).toBe(200);
    expect((await service.ask("PUT", "/api/v1/rules/orders", { body: ruleOf() })).status).toBe(200);
    const none = { body: INPUT, headers: { "if-match": "*" } };
    expect((await service.ask("PUT", "/api/v1/rules/none", none)).status).toBe(412);
  });

  it("never matches weak tags, or tags that are not a version", async () => {
    service = await startService();
    expect((await put(10, 'W/"1"')).status).toBe(412);
    expect((await put(10, '"one"')).status).toBe(412);
    expect((await put(10, "1")).body.errors[0]).toMatchObject({ in: "header", field: "If-Match" });
  });

  it("guards removal, too", async () => {
    service = await startService();
    const remove = (tag: string) => service.ask("DELETE", "/api/v1/rules/orders", { headers: { "if-match": tag } });
    expect((await remove('"2"')).status).toBe(412);
    expect((await remove('"1"')).status).toBe(204);
  });
});

describe("all rules", () => {
  const many = Array.from({ length: 25 }, (_, i) =>
    ruleOf({ rule_id: `r-${String(i).padStart(2, "0")}`, endpoint_pattern: `/r/${i}` }),
  );

  it("are listed by page, each once", async () => {
    service = await startService({ rules: many });
    const ids: string[] = [];
    let path = "/api/v1/rules?limit=10";
    for (let pages = 1; ; pages += 1) {
      const { body } = await service.ask("GET", path);
      ids.push(...body.rules.map((rule: { rule_id: string }) => rule.rule_id));
      if (body.next === undefined) {
        expect(pages).toBe(3);
        break;
      }
      path = `/api/v1/rules?limit=10&cursor=${encodeURIComponent(body.next)}`;
    }
    expect(ids).toEqual(many.map(({ rule_id }) => rule_id));
  });

  it.each(["limit=0", "limit=1001", "limit=x", "cursor=nonsense", "page=2"])(
    "are not listed with ?%s",
    async (query) => {
      service = await startService({ rules: many });
      const { status, body } = await service.ask("GET", `/api/v1/rules?${query}`);
      expect([status, body.errors[0].in, body.errors[0].field]).toEqual([400, "query", query.split("=")[0]]);
    },
  );

  it("are replaced in one go", async () => {
    service = await startService({ rules: [ruleOf(), ruleOf({ rule_id: "old", endpoint_pattern: "/old" })] });
    const body = { rules: [ruleOf({ limit: 5 }), ruleOf({ rule_id: "new", endpoint_pattern: "/new" })] };
    const { status, body: answer } = await service.ask("PUT", "/api/v1/rules", { body });
    expect(status).toBe(200);
    expect(answer).toEqual({ created: ["new"], updated: ["orders"], removed: ["old"], unchanged: 0 });
  });

  it("are replaced all or not at all", async () => {
    service = await startService();
    const body = { rules: [ruleOf({ rule_id: "new", endpoint_pattern: "/new" }), ruleOf({ limit: 0 })] };
    const { status, body: answer } = await service.ask("PUT", "/api/v1/rules", { body });
    expect([status, answer.errors[0].field]).toEqual([400, "rules[1].limit"]);
    const { body: listed } = await service.ask("GET", "/api/v1/rules");
    expect(listed.rules.map((rule: { rule_id: string }) => rule.rule_id)).toEqual(["orders"]);
  });

  it("may be many at once: ten thousand", async () => {
    service = await startService();
    const rules = Array.from({ length: 10_000 }, (_, i) => ruleOf({ rule_id: `r-${i}`, endpoint_pattern: `/r/${i}` }));
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules } });
    expect(status).toBe(200);
    expect(body.created).toHaveLength(10_000);
  });
});

describe("rules of a file", () => {
  it("are read as others are, and changed in the file alone", async () => {
    service = await startService({ parts: () => ({ rulesFile: "rules.yaml" }) });
    const { body } = await service.ask("GET", "/api/v1/rules?limit=1");
    expect(body.rules).toMatchObject([{ rule_id: "orders" }]);
    expect((await service.ask("GET", "/api/v1/rules/orders")).status).toBe(200);
    const writes = [
      ["POST", "/api/v1/rules", INPUT],
      ["PUT", "/api/v1/rules", { rules: [] }],
      ["PUT", "/api/v1/rules/orders", INPUT],
      ["DELETE", "/api/v1/rules/orders", undefined],
    ] as const;
    for (const [method, path, body] of writes) {
      const answer = await service.ask(method, path, { body });
      expect([answer.status, answer.body.code]).toEqual([409, "rules_from_file"]);
      expect(answer.body.detail).toContain("rules.yaml");
    }
  });
});
