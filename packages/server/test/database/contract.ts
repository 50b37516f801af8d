import { randomUUID } from "node:crypto";
import { eventually } from "headgate-testkit/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/audit.ts";
import { cursorAt } from "../../src/database/cursor.ts";
import type { Change, Conflict, Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import type { RuleInput } from "../../src/rules/rule.ts";
import { admin, aRule, type Place } from "./fixtures.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Undoes every migration since version 0.1. */
const BACK_TO_VERSION_0_1 = [
  "drop index headgate_audit_by_action_seq",
  "drop index headgate_rollups_by_period_rule_id_start",
  "drop index headgate_users_by_tier_user_id",
  "drop table headgate_top_denied",
  "drop table headgate_node_reports",
  ...[
    "anchor",
    "bucket_width",
    "exact",
    "methods",
    "calendar",
    "time_zone",
    "anchor_day",
    "candidate",
    "enforce_share",
  ].map((column) => `alter table headgate_rules drop column ${column}`),
  "alter table headgate_rollups drop column candidate_denied",
  "alter table headgate_keys drop column namespace",
  "delete from headgate_migrations where name > '0002'",
]
  .map((statement) => `${statement};`)
  .join("\n");

/** What holds on every database. `place` answers where a new and empty one is. */
export function describeDatabase(name: string, place: () => Promise<Place>): void {
  describe(`the database on ${name}`, () => {
    let here: Place;
    let database: Database;
    const others: Database[] = [];
    beforeEach(async () => {
      here = await place();
      database = await openDatabase(here.options);
    });
    afterEach(async () => {
      for (const other of others.splice(0)) await other.close();
      await database.close();
    });

    /** As another node opens it. */
    async function open(): Promise<Database> {
      const other = await openDatabase(here.options);
      others.push(other);
      return other;
    }

    describe("rules", () => {
      it("creates a rule, and reads it as it was given", async () => {
        const input = aRule({ rule_id: "orders", limit: Number.MAX_SAFE_INTEGER, burst: 7, tier: "premium" });
        const rule = await database.rules.create(input, admin);
        expect(rule).toMatchObject({ ...input, version: 1 });
        expect(await database.rules.get("orders")).toEqual(rule);
        expect(await database.rules.all()).toEqual([rule]);
        expect(await database.rules.get("none")).toBe(undefined);
      });

      it.each([
        { algorithm: "fixed_window", anchor: "request" },
        { algorithm: "bucketed_window", bucket_width: 0.25, exact: false },
        { algorithm: "bucketed_window", exact: true },
        { algorithm: "fixed_window", methods: ["POST", "PUT"] },
        {
          algorithm: "fixed_window",
          window_seconds: null,
          calendar: "month",
          time_zone: "Europe/Berlin",
          anchor_day: 15,
        },
      ] satisfies Partial<RuleInput>[])("keeps %j", async (fields) => {
        const rule = await database.rules.create(aRule(fields), admin);
        expect(rule).toMatchObject(fields);
        expect(await database.rules.get("rule")).toEqual(rule);
        expect(await database.rules.replace([aRule(fields)], admin)).toMatchObject({ unchanged: 1 });
        for (const other of [
          { anchor: "clock" },
          { bucket_width: 0.5 },
          { exact: !("exact" in fields && fields.exact) },
          { methods: ["PATCH", "POST"] },
          { methods: null, limit: 7 },
          { time_zone: "Asia/Tokyo" },
          { anchor_day: 31 },
          { window_seconds: 61, calendar: null },
        ] satisfies Partial<RuleInput>[]) {
          expect(await database.rules.replace([aRule({ ...fields, ...other })], admin)).toMatchObject({ unchanged: 0 });
          expect(await database.rules.get("rule")).toMatchObject(other);
          await database.rules.replace([aRule(fields)], admin);
        }
      });

      it("keeps its data after it is closed and opened again", async () => {
        const rule = await database.rules.create(aRule(), admin);
        await database.close();
        expect(await (await open()).rules.all()).toEqual([rule]);
      });

      it("refuses a second rule with the same id, and a second in the same place of a family", async () => {
        await database.rules.create(aRule({ rule_id: "a" }), admin);
        expect(await database.rules.create(aRule({ rule_id: "a", endpoint_pattern: "/other" }), admin)).toEqual({
          conflict: "exists",
          current: 1,
        });
        expect(await database.rules.create(aRule({ rule_id: "b" }), admin)).toMatchObject({ conflict: "exists" });
        expect(await database.rules.create(aRule({ rule_id: "b", tier: "free" }), admin)).toMatchObject({ version: 1 });
        expect(await database.rules.update(aRule({ rule_id: "b" }), admin)).toMatchObject({ conflict: "exists" });
        const posts = aRule({ rule_id: "c", methods: ["POST"] });
        expect(await database.rules.create(posts, admin)).toMatchObject({ version: 1 });
        expect(await database.rules.create({ ...posts, rule_id: "d" }, admin)).toMatchObject({ conflict: "exists" });
        expect(await database.audit.query({ limit: 10 })).toMatchObject({ items: [{}, {}, {}] });
      });

      it("counts the version up with each update, and keeps when it was created", async () => {
        const first = await database.rules.create(aRule(), admin);
        const second = await database.rules.update(aRule({ limit: 5 }), admin, 1);
        expect(second).toMatchObject({ limit: 5, version: 2, created_at: created(first) });
        expect(await database.rules.update(aRule({ limit: 6 }), admin)).toMatchObject({ limit: 6, version: 3 });
      });

      it("refuses an update that was made from an older version, and changes nothing", async () => {
        await database.rules.create(aRule(), admin);
        await database.rules.update(aRule({ limit: 5 }), admin, 1);
        expect(await database.rules.update(aRule({ limit: 6 }), admin, 1)).toEqual({ conflict: "changed", current: 2 });
        expect(await database.rules.remove("rule", admin, 1)).toEqual({ conflict: "changed", current: 2 });
        expect(await database.rules.get("rule")).toMatchObject({ limit: 5, version: 2 });
      });

      it("lets one of many updates from the same version pass", async () => {
        const other = await open();
        await database.rules.create(aRule(), admin);
        const writers = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? database : other));
        const results = await Promise.all(writers.map(({ rules }, limit) => rules.update(aRule({ limit }), admin, 1)));
        expect(results.filter((result) => !("conflict" in result))).toHaveLength(1);
        expect(await database.rules.get("rule")).toMatchObject({ version: 2 });
      });

      it("removes a rule, and says what it was", async () => {
        const rule = await database.rules.create(aRule(), admin);
        expect(await database.rules.remove("rule", admin, 1)).toEqual(rule);
        expect(await database.rules.get("rule")).toBe(undefined);
        expect(await database.rules.remove("rule", admin)).toEqual({ conflict: "missing" });
        expect(await database.rules.update(aRule(), admin)).toEqual({ conflict: "missing" });
      });

      it.each([
        ["removed", () => database.rules.remove("gone", admin)],
        ["left out of a replacement", () => database.rules.replace([aRule({ rule_id: "stays" })], admin)],
      ])("removes custom limits and overrides under a rule that is %s", async (_how, remove) => {
        const { users, rules } = database;
        await rules.create(aRule({ rule_id: "stays" }), admin);
        await rules.create(aRule({ rule_id: "gone", endpoint_pattern: "/gone" }), admin);
        await users.setCustomLimits("both", { gone: { limit: 1 }, stays: { limit: 2 } }, admin);
        await users.setCustomLimits("other", { stays: { limit: 3 } }, admin);
        const override = {
          limit: 4,
          burst: null,
          reason: "a launch",
          expires_at: new Date(Date.now() + DAY).toISOString(),
        };
        const ended = await users.addOverride({ ...override, user_id: "lucky", rule_id: "gone" }, admin);
        const kept = await users.addOverride({ ...override, user_id: "lucky", rule_id: null }, admin);
        const changes: Change[] = [];
        database.onChange((change) => changes.push(change));
        const before = (await database.audit.query({ limit: 100 })).items.length;

        await remove();
        expect(await users.get("both")).toMatchObject({ custom_limits: { stays: { limit: 2 } }, version: 2 });
        expect((await users.get("both")).custom_limits).not.toHaveProperty("gone");
        expect(await users.get("other")).toMatchObject({ custom_limits: { stays: { limit: 3 } }, version: 1 });
        expect(await users.get("lucky")).toMatchObject({ overrides: [kept], version: 3 });
        expect(changes).toEqual(
          expect.arrayContaining([
            { kind: "rules" },
            { kind: "user", user_id: "both" },
            { kind: "user", user_id: "lucky" },
          ]),
        );
        expect(changes).not.toContainEqual({ kind: "user", user_id: "other" });
        const { items } = await database.audit.query({ limit: 100 });
        expect(items.slice(0, items.length - before).reverse()).toMatchObject([
          { action: "rule.delete", subject: "rule:gone", actor_id: admin.id },
          {
            action: "user.limits",
            subject: "user:both",
            actor_id: admin.id,
            before: { custom_limits: { gone: { limit: 1 } } },
            after: { custom_limits: { stays: { limit: 2 } } },
          },
          { action: "override.delete", subject: "user:lucky", before: ended, after: null },
        ]);
        expect((await database.audit.verify()).broken).toBe(undefined);
        // One that is made under the same id is another.
        await rules.create(aRule({ rule_id: "gone", endpoint_pattern: "/gone" }), admin);
        expect((await users.get("both")).custom_limits).toEqual({ stays: { limit: 2 } });
      });

      it("lists page by page in the order of the ids' bytes, also while rules come and go", async () => {
        const ids = ["B", "a", "b", "é", "日本", "_", "-", "10", "9"];
        for (const rule_id of ids) {
          await database.rules.create(aRule({ rule_id, endpoint_pattern: `/${rule_id}` }), admin);
        }
        const inOrder = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const first = await database.rules.list({ limit: 4 });
        await database.rules.remove(inOrder[3], admin);
        await database.rules.create(aRule({ rule_id: "!", endpoint_pattern: "/!" }), admin);
        const second = await database.rules.list({ limit: 4, ...(first.next && { cursor: first.next }) });
        const third = await database.rules.list({ limit: 4, ...(second.next && { cursor: second.next }) });
        expect([first, second, third].flatMap(({ items }) => items.map(({ rule_id }) => rule_id))).toEqual(inOrder);
        expect(third.next).toBe(undefined);
      });

      it("has no next page when the last one is just full", async () => {
        await database.rules.create(aRule(), admin);
        expect(await database.rules.list({ limit: 1 })).toEqual({ items: [expect.anything()] });
      });

      it.each(["", "x", "NQ", "bnVsbA", "IngiIA", cursorOf("a\0")])(
        "refuses the cursor %j, which it never gave",
        async (cursor) => {
          await expect(database.rules.list({ limit: 1, cursor })).rejects.toMatchObject({
            code: "HG_BAD_OPTION",
            field: "cursor",
          });
        },
      );

      it("replaces all rules at once, leaving alone those that stay the same", async () => {
        for (const id of ["same", "changed", "gone"]) {
          await database.rules.create(aRule({ rule_id: id, endpoint_pattern: `/${id}` }), admin);
        }
        const replaced = await database.rules.replace(
          [
            aRule({ rule_id: "same", endpoint_pattern: "/same" }),
            aRule({ rule_id: "changed", endpoint_pattern: "/changed", limit: 1 }),
            aRule({ rule_id: "new", endpoint_pattern: "/gone" }),
          ],
          admin,
        );
        expect(replaced).toEqual({ created: ["new"], updated: ["changed"], removed: ["gone"], unchanged: 1 });
        const versions = (await database.rules.all()).map(({ rule_id, version }) => [rule_id, version]);
        expect(Object.fromEntries(versions)).toEqual({ same: 1, changed: 2, new: 1 });
        const { items } = await database.audit.query({ limit: 3 });
        expect(items.map(({ action, subject }) => `${action} ${subject}`).sort()).toEqual([
          "rule.create rule:new",
          "rule.delete rule:gone",
          "rule.update rule:changed",
        ]);
      });

      it("replaces rules that change places", async () => {
        await database.rules.create(aRule({ rule_id: "a", tier: "free" }), admin);
        await database.rules.create(aRule({ rule_id: "b", tier: "premium" }), admin);
        await database.rules.replace(
          [aRule({ rule_id: "a", tier: "premium" }), aRule({ rule_id: "b", tier: "free" })],
          admin,
        );
        expect(await database.rules.all()).toMatchObject([
          { rule_id: "a", tier: "premium", version: 2 },
          { rule_id: "b", tier: "free", version: 2 },
        ]);
      });

      it("replaces nothing when two of the new rules exclude each other", async () => {
        await database.rules.create(aRule({ rule_id: "old" }), admin);
        const twice = [aRule({ rule_id: "a" }), aRule({ rule_id: "b" })];
        await expect(database.rules.replace(twice, admin)).rejects.toMatchObject({ code: "HG_BAD_RULES", field: "b" });
        const sameId = [aRule({ rule_id: "a" }), aRule({ rule_id: "a", tier: "free" })];
        await expect(database.rules.replace(sameId, admin)).rejects.toMatchObject({ code: "HG_BAD_RULES" });
        expect(await database.rules.all()).toMatchObject([{ rule_id: "old" }]);
      });

      it("takes some thousands of rules at once", async () => {
        const rules = Array.from({ length: 3_000 }, (_, i) => aRule({ rule_id: `r${i}`, endpoint_pattern: `/${i}` }));
        expect((await database.rules.replace(rules, admin)).created).toHaveLength(3_000);
        expect((await database.rules.replace([], admin)).removed).toHaveLength(3_000);
        expect(await database.audit.verify()).toMatchObject({ entries: 6_000 });
      });

      it("takes a pattern of any length", async () => {
        const endpoint_pattern = `/${Array.from({ length: 500 }, () => randomUUID()).join("/")}`;
        await database.rules.create(aRule({ endpoint_pattern }), admin);
        expect(await database.rules.get("rule")).toMatchObject({ endpoint_pattern });
      });
    });

    describe("users", () => {
      it("has no data of an unknown user", async () => {
        const nobody = { user_id: "x", tier: null, custom_limits: {}, overrides: [], version: 0 };
        expect(await database.users.get("x")).toEqual(nobody);
      });

      it("keeps tier, custom limits and overrides, each without touching the others", async () => {
        const limits = { orders: { limit: 5, burst: null }, ["__proto__"]: { limit: 3 } };
        await database.users.setTier("u", "premium", admin);
        await database.users.setCustomLimits("u", limits, admin, 1);
        const override = await database.users.addOverride(anOverride(), admin);
        expect(override).toMatchObject({ ...anOverride(), created_by: admin.id });
        const all = await database.users.get("u");
        expect(all).toEqual({
          user_id: "u",
          tier: "premium",
          custom_limits: limits,
          overrides: [override],
          version: 3,
        });
        expect(Object.keys(all.custom_limits)).toContain("__proto__");
        expect(await database.users.setTier("u", null, admin)).toEqual({ ...all, tier: null, version: 4 });
      });

      it("lists users by page in the order of their ids, and those of one tier", async () => {
        for (const [id, tier] of Object.entries({ b: "free", a: "premium", ä: "free", B: "free" })) {
          await database.users.setTier(id, tier, admin);
        }
        const override = await database.users.addOverride(anOverride({ user_id: "c" }), admin);
        const first = await database.users.list({ limit: 2 });
        expect(first.items.map(({ user_id }) => user_id)).toEqual(["B", "a"]);
        const second = await database.users.list({ limit: 3, cursor: first.next ?? "" });
        expect(second.items).toMatchObject([
          { user_id: "b", tier: "free", custom_limits: {}, overrides: [], version: 1 },
          { user_id: "c", tier: null, overrides: [override] },
          { user_id: "ä" },
        ]);
        expect(second.next).toBe(undefined);
        const free = await database.users.list({ limit: 2, tier: "free" });
        expect(free.items.map(({ user_id }) => user_id)).toEqual(["B", "b"]);
        const rest = await database.users.list({ limit: 2, tier: "free", cursor: free.next ?? "" });
        expect([rest.items.map(({ user_id }) => user_id), rest.next]).toEqual([["ä"], undefined]);
        expect(await database.users.list({ limit: 5, tier: "none" })).toEqual({ items: [] });
        const wrong = database.users.list({ limit: 5, cursor: "nowhere" });
        await expect(wrong).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "cursor" });
      });

      it("lists any number of users once, however long the pages are", async () => {
        const ids = Array.from({ length: 350 }, (_, i) => `u${String(i).padStart(3, "0")}`);
        await database.users.import(
          ids.map((user_id) => ({ user_id, tier: "free" })),
          admin,
        );
        const found: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await database.users.list({ limit: 333, ...(cursor !== undefined && { cursor }) });
          found.push(...page.items.map(({ user_id }) => user_id));
          cursor = page.next;
        } while (cursor !== undefined);
        expect(found).toEqual(ids);
      });

      it("ends a page of very long users early", async () => {
        const custom_limits = Object.fromEntries(
          Array.from({ length: 400 }, (_, i) => [`${"r".repeat(200)}${i}`, { limit: 1 }]),
        );
        const ids = Array.from({ length: 250 }, (_, i) => `u${String(i).padStart(3, "0")}`);
        for (let i = 0; i < ids.length; i += 50) {
          const some = ids.slice(i, i + 50).map((user_id) => ({ user_id, custom_limits }));
          await database.users.import(some, admin);
        }
        const page = await database.users.list({ limit: 250 });
        expect(page.items).toHaveLength(100);
        const next = await database.users.list({ limit: 250, cursor: page.next ?? "" });
        expect(next.items[0].user_id).toBe("u100");
      });

      it("imports users: what is absent stays, what is the same is not touched, and the last one wins", async () => {
        const limits = { orders: { limit: 5, burst: null } };
        await database.users.setTier("same", "free", admin);
        await database.users.setCustomLimits("kept", limits, admin);
        const override = await database.users.addOverride(anOverride({ user_id: "kept" }), admin);
        const told = listen(database);
        const users = [
          { user_id: "same", tier: "free" },
          { user_id: "kept", tier: "premium" },
          { user_id: "new", tier: "free" },
          { user_id: "new", tier: "premium" },
          { user_id: "limits", custom_limits: limits },
        ];
        expect(await database.users.import(users, admin)).toEqual({ created: 2, updated: 1, unchanged: 1 });
        expect(await database.users.get("same")).toMatchObject({ version: 1 });
        expect(await database.users.get("kept")).toEqual({
          user_id: "kept",
          tier: "premium",
          custom_limits: limits,
          overrides: [override],
          version: 3,
        });
        expect(await database.users.get("new")).toMatchObject({ tier: "premium", version: 1 });
        expect(await database.users.get("limits")).toMatchObject({ tier: null, custom_limits: limits });
        const changed = told.flatMap((change) => (change.kind === "user" ? [change.user_id] : []));
        expect(changed).toEqual(["kept", "new", "limits"]);
        const { items } = await database.audit.query({ action: "user.import", limit: 10 });
        expect(items.map(({ subject }) => subject)).toEqual(["user:limits", "user:new", "user:kept"]);
        expect(items[2]).toMatchObject({
          actor_id: admin.id,
          before: { tier: null, custom_limits: limits, version: 2 },
          after: { tier: "premium", custom_limits: limits, version: 3 },
        });
        expect(await database.users.import(users, admin)).toEqual({ created: 0, updated: 0, unchanged: 4 });
        expect((await database.audit.verify()).broken).toBe(undefined);
      });

      it("lists all users with stored data, unless there are too many", async () => {
        expect(await database.users.ids(0)).toEqual([]);
        await database.users.setTier("a", "premium", admin);
        await database.users.setCustomLimits("B", {}, admin);
        await database.users.addOverride(anOverride({ user_id: "ä" }), admin);
        await database.users.setTier("a", null, admin);
        expect([...((await database.users.ids(3)) ?? [])].sort()).toEqual(["B", "a", "ä"]);
        expect(await database.users.ids(2)).toBeUndefined();
      });

      it("lists thousands of them, each once", async () => {
        const rows = Array.from({ length: 12_000 }, (_, i) => `('user ${i}', '{}', 1)`);
        await here.sql(`INSERT INTO headgate_users (user_id, custom_limits, version) VALUES ${rows.join(", ")}`);
        const ids = await database.users.ids(100_000);
        expect(ids).toHaveLength(12_000);
        expect(new Set(ids).size).toBe(12_000);
        expect(await database.users.ids(11_999)).toBeUndefined();
      });

      it("refuses a change that was made from an older version", async () => {
        expect(await database.users.setTier("u", "free", admin, 1)).toEqual({ conflict: "changed", current: 0 });
        await database.users.setTier("u", "free", admin, 0);
        await database.users.addOverride(anOverride(), admin);
        expect(await database.users.setTier("u", "premium", admin, 1)).toEqual({ conflict: "changed", current: 2 });
        expect(await database.users.setCustomLimits("u", {}, admin, 1)).toEqual({ conflict: "changed", current: 2 });
        expect(await database.users.get("u")).toMatchObject({ tier: "free", version: 2 });
      });

      it("refuses an override that ends at no time", async () => {
        const refusal = { code: "HG_BAD_OPTION", field: "expires_at" };
        await expect(database.users.addOverride(anOverride({ expires_at: "soon" }), admin)).rejects.toMatchObject(
          refusal,
        );
        expect(await database.users.get("u")).toMatchObject({ version: 0 });
      });

      it("removes an override, of its user only", async () => {
        const override = await database.users.addOverride(anOverride(), admin);
        const { override_id } = override;
        expect(await database.users.removeOverride("other", override_id, admin)).toEqual({ conflict: "missing" });
        expect(await database.users.removeOverride("u", override_id, admin)).toEqual(override);
        expect(await database.users.removeOverride("u", override_id, admin)).toEqual({ conflict: "missing" });
        expect(await database.users.get("u")).toMatchObject({ overrides: [], version: 2 });
      });

      it("distinguishes users whatever their ids are", async () => {
        const ids = [
          "a:b",
          "a",
          "A",
          "á",
          "__proto__",
          "constructor",
          "'; drop table headgate_users; --",
          "%",
          "日本",
          "😀",
        ];
        for (const id of ids) await database.users.setTier(id, `tier of ${id}`, admin);
        for (const id of ids) expect(await database.users.get(id)).toMatchObject({ tier: `tier of ${id}`, version: 1 });
      });

      it.each([
        ["a NUL", "a\0b"],
        ["half a surrogate pair", "a\ud800"],
        ["600 characters", "a".repeat(600)],
      ])("knows no user with %s in the name, and stores nothing under it", async (_, id) => {
        expect(await database.users.get(id)).toMatchObject({ user_id: id, version: 0 });
        await expect(database.users.setTier(id, "free", admin)).rejects.toMatchObject({
          code: "HG_BAD_OPTION",
          field: "user_id",
        });
        expect(await database.rules.get(id)).toBe(undefined);
        const query = { period: "day", rule_id: id, from: at(0), to: at(1), limit: 10 } as const;
        expect(await database.rollups.query(query)).toEqual({ items: [] });
        expect(await database.users.removeOverride(id, id, admin)).toEqual({ conflict: "missing" });
      });
    });

    describe("keys", () => {
      it("keeps keys, and revokes one once", async () => {
        const key = aKey();
        await database.keys.add(key, admin);
        expect(await database.keys.all()).toEqual([key]);
        const revoked = await database.keys.revoke("k1", admin);
        expect(revoked).toEqual({ ...key, revoked_at: expect.any(String) });
        expect(await database.keys.revoke("k1", admin)).toEqual(revoked);
        expect(await database.keys.revoke("none", admin)).toEqual({ conflict: "missing" });
        expect(await database.keys.all()).toEqual([revoked]);
      });

      it("never writes a key's hash into the audit log", async () => {
        await database.keys.add(aKey(), admin);
        await database.keys.revoke("k1", admin);
        const { items } = await database.audit.query({ limit: 10 });
        expect(items.map(({ action }) => action)).toEqual(["key.revoke", "key.create"]);
        expect(JSON.stringify(items)).not.toContain(aKey().hash);
      });
    });

    describe("the audit log", () => {
      it("records who changed what, from what, to what", async () => {
        const before = await database.rules.create(aRule(), admin);
        const after = await database.rules.update(aRule({ limit: 1 }), { id: "k2", name: "Bob" }, 1);
        const { items } = await database.audit.query({ limit: 10 });
        expect(items).toMatchObject([
          { seq: 2, actor_id: "k2", actor_name: "Bob", action: "rule.update", subject: "rule:rule", before, after },
          { seq: 1, actor_id: admin.id, action: "rule.create", before: null, after: before },
        ]);
      });

      it("contains no rejected changes", async () => {
        await database.rules.update(aRule(), admin);
        await database.users.setTier("u", "free", admin, 7);
        await database.rules.remove("rule", admin);
        expect(await database.audit.verify()).toMatchObject({ entries: 0, head: { seq: 0 } });
      });

      it("finds entries by subject, action and time, the newest first and page by page", async () => {
        await database.audit.append(
          Array.from({ length: 20 }, (_, i) => anEvent({ subject: `user:${i % 2}`, at: at(i), action: `a${i % 4}` })),
        );
        const first = await database.audit.query({ subject: "user:0", limit: 6 });
        await database.audit.append([anEvent({ subject: "user:0", at: at(30) })]);
        const second = await database.audit.query({ subject: "user:0", limit: 6, cursor: String(first.next) });
        expect([...first.items, ...second.items].map(({ seq }) => seq)).toEqual([19, 17, 15, 13, 11, 9, 7, 5, 3, 1]);
        expect(second.next).toBe(undefined);
        const some = await database.audit.query({ from: at(5), to: at(9), limit: 10 });
        expect(some.items.map(({ seq }) => seq)).toEqual([9, 8, 7, 6]);
        expect((await database.audit.query({ action: "a3", limit: 100 })).items).toHaveLength(5);
      });

      /** Fills the log with an entry a minute, every third one of another subject, and the clock set back for one. */
      const manyEntries = (count: number) => `insert into headgate_audit
        with recursive numbers(seq) as (select 1 union all select seq + 1 from numbers where seq < ${count})
        select seq, ${Date.parse(at(0))} + (case seq when ${count - 1} then 2 else seq end) * 60000,
          'system', 'system', case when seq % 2 = 0 then 'even' else 'odd' end,
          case when seq % 3 = 0 then 'user:3' else 'user:u' end, 'null', 'null', '', '' from numbers`;

      it.each<[object, number[]]>([
        [{}, [11_999, 5, 4, 3, 2, 1]],
        [{ subject: "user:u" }, [11_999, 5, 4, 2, 1]],
        [{ action: "odd" }, [11_999, 5, 3, 1]],
        [{ action: "odd", subject: "user:u" }, [11_999, 5, 1]],
      ])("finds entries of a time long ago, page by page, with %j", async (filter, expected) => {
        await here.sql(manyEntries(12_000));
        for (const limit of [1, 2, 100]) {
          const found: number[] = [];
          let cursor: string | undefined;
          do {
            const page = await database.audit.query({ ...filter, to: at(6), limit, ...(cursor && { cursor }) });
            expect(page.items.length).toBeLessThanOrEqual(limit);
            found.push(...page.items.map(({ seq }) => seq));
            cursor = page.next;
          } while (cursor !== undefined);
          expect(found).toEqual(expected);
        }
        expect(await database.audit.query({ ...filter, from: at(20_000), limit: 10 })).toEqual({ items: [] });
      });

      it("finds entries across a gap in the numbers", async () => {
        await here.sql(manyEntries(6_000));
        await here.sql("update headgate_audit set seq = seq + 9000000000000000 where seq > 3");
        const { items } = await database.audit.query({ to: at(4), limit: 10 });
        expect(items.map(({ seq }) => seq)).toEqual([9_000_000_000_005_999, 3, 2, 1]);
      });

      it("lets others have their turn while it examines many entries", async () => {
        await here.sql(manyEntries(12_000));
        for (const filter of [{ to: at(3) }, { from: at(20_000) }, { subject: "user:u", action: "none" }]) {
          let turns = 0;
          let isOver = false;
          const count = () => {
            turns += 1;
            if (!isOver) setImmediate(count);
          };
          setImmediate(count);
          await database.audit.query({ ...filter, limit: 10 });
          isOver = true;
          expect(turns).toBeGreaterThanOrEqual(2);
        }
      });

      it.each([cursorOf("a"), cursorOf(1.5), cursorOf(1e300)])("refuses the cursor %j", async (cursor) => {
        await expect(database.audit.query({ limit: 1, cursor })).rejects.toMatchObject({
          code: "HG_BAD_OPTION",
          field: "cursor",
        });
      });

      it.each(["from", "to"])("refuses a time that is none as `%s`", async (field) => {
        const refusal = { code: "HG_BAD_OPTION", field };
        await expect(database.audit.query({ limit: 1, [field]: "soon" })).rejects.toMatchObject(refusal);
        const span = { from: at(0), to: at(1), [field]: "soon" };
        await expect(database.rollups.query({ period: "day", limit: 1, ...span })).rejects.toMatchObject(refusal);
      });

      it("takes events of any key, and finds them by it", async () => {
        const subjects = [
          "user:a\0b",
          "user:a\ud800",
          `user:${"x".repeat(5_000)}`,
          `user:${"x".repeat(5_001)}`,
          "user:😀",
        ];
        await database.audit.append(subjects.map((subject) => anEvent({ subject, after: { key: subject } })));
        for (const subject of subjects) {
          const { items } = await database.audit.query({ subject, limit: 10 });
          expect(items).toMatchObject([{ after: { key: subject } }]);
        }
        expect(await database.audit.verify()).toMatchObject({ entries: 5 });
      });

      it("verifies as whole, with the head that it ends with", async () => {
        await database.audit.append(Array.from({ length: 1_234 }, (_, i) => anEvent({ after: { i } })));
        const [last] = (await database.audit.query({ limit: 1 })).items;
        expect(await database.audit.verify()).toEqual({
          entries: 1_234,
          begins_after: { seq: 0, hash: "0".repeat(64) },
          head: { seq: 1_234, hash: last.hash },
        });
      });

      it("verifies as whole while others write and purge", async () => {
        const other = await open();
        const old = Array.from({ length: 1_500 }, () => anEvent({ at: new Date(Date.now() - 91 * DAY).toISOString() }));
        await database.audit.append(old);
        const work = (async () => {
          for (let i = 0; i < 20; i += 1) await other.audit.append([anEvent()]);
          await other.purge(new Date());
          for (let i = 0; i < 20; i += 1) await other.audit.append([anEvent()]);
        })();
        let done = false;
        void work.finally(() => {
          done = true;
        });
        while (!done) expect((await database.audit.verify()).broken).toBe(undefined);
        await work;
        expect(await database.audit.verify()).toMatchObject({ entries: 41, head: { seq: 1_541 } });
      });

      const swap = `update headgate_audit set seq = case seq when 3 then -4 when 4 then -3 end where seq in (3, 4);
        update headgate_audit set seq = -seq where seq < 0`;
      it.each([
        ["an edited name", 3, `update headgate_audit set actor_name = 'Mallory' where seq = 3`],
        ["an edited time", 3, `update headgate_audit set at = at + 1 where seq = 3`],
        ["an edited value", 4, `update headgate_audit set after = '{"limit":1}' where seq = 4`],
        ["an edited hash", 2, `update headgate_audit set hash = '${"0".repeat(64)}' where seq = 2`],
        ["a row that was removed", 3, "delete from headgate_audit where seq = 3"],
        ["the first row removed", 1, "delete from headgate_audit where seq = 1"],
        ["the last row removed", 5, "delete from headgate_audit where seq = 5"],
        ["all rows removed", 1, "delete from headgate_audit"],
        ["two rows that changed places", 3, swap],
        ["a row added at the end", 6, added(6)],
        ["a row added before the beginning", 0, added(0)],
        [
          "rows that were numbered anew over a gap",
          2,
          "delete from headgate_audit where seq = 2; update headgate_audit set seq = seq - 1 where seq > 2",
        ],
      ])("finds %s", async (_, seq, statement) => {
        await database.audit.append([1, 2, 3, 4, 5].map((limit) => anEvent({ after: { limit: limit * 10 } })));
        expect((await database.audit.verify()).broken).toBe(undefined);
        await here.sql(statement);
        expect((await database.audit.verify()).broken?.[0]).toEqual({ seq, problem: expect.any(String) });
      });

      const unreadable = [
        "update headgate_audit set before = '{\"limit\":' where seq = 2",
        "update headgate_audit set at = 9000000000000001 where seq = 3",
        "update headgate_audit set after = 'none' where seq = 5",
      ].join("; ");

      it("names each entry that cannot be parsed, and continues with the next", async () => {
        await database.audit.append([1, 2, 3, 4, 5].map((limit) => anEvent({ after: { limit } })));
        await here.sql(unreadable);
        const { broken, entries } = await database.audit.verify();
        expect(broken).toEqual([
          { seq: 2, problem: "the entry cannot be read: before is not valid JSON" },
          { seq: 3, problem: "the entry cannot be read: at is not a time" },
          { seq: 5, problem: "the entry cannot be read: after is not valid JSON" },
        ]);
        expect(entries).toBe(2);
      });

      it("lists entries that cannot be parsed with their numbers and the stored text", async () => {
        await database.audit.append([1, 2, 3, 4, 5].map((limit) => anEvent({ after: { limit } })));
        await here.sql(unreadable);
        const { items } = await database.audit.query({ limit: 10 });
        expect(items).toMatchObject([
          { seq: 5, after: "none", unreadable: "after is not valid JSON" },
          { seq: 4, after: { limit: 4 } },
          { seq: 3, at: "9000000000000001", unreadable: "at is not a time" },
          { seq: 2, before: '{"limit":', unreadable: "before is not valid JSON" },
          { seq: 1 },
        ]);
        expect(items[1]).not.toHaveProperty("unreadable");
      });

      it("names at most a hundred breaks, and counts the others", async () => {
        await database.audit.append(Array.from({ length: 150 }, () => anEvent()));
        await here.sql("update headgate_audit set actor_name = 'Mallory'");
        const { broken, unlisted, entries } = await database.audit.verify();
        expect([broken?.length, unlisted, entries]).toEqual([100, 50, 0]);
      });

      it("says that the row of the chain's ends is missing, and still compares the entries", async () => {
        await database.audit.append([1, 2, 3, 4].map(() => anEvent()));
        await here.sql("delete from headgate_audit_chain; delete from headgate_audit where seq <= 2");
        const { broken } = await database.audit.verify();
        expect(broken).toMatchObject([{ seq: 0 }, { seq: 1, problem: "entries 1 to 2 are missing" }]);
        await here.sql("update headgate_audit set actor_name = 'Mallory' where seq = 4");
        expect((await database.audit.verify()).broken).toMatchObject([{ seq: 0 }, { seq: 1 }, { seq: 4 }]);
      });

      /** Removes the beginning and sets the anchor as if it had been purged. */
      const cut = (seq: number) => `update headgate_audit_chain set anchor_seq = ${seq},
        anchor_hash = (select hash from headgate_audit where seq = ${seq}); delete from headgate_audit where seq <= ${seq}`;

      it("notices a beginning that was removed together with its anchor", async () => {
        await database.audit.append([1, 2, 3, 4, 5].map(() => anEvent()));
        const { head } = await database.audit.verify();
        await here.sql(cut(3));
        expect((await database.audit.verify()).broken).toEqual([
          { seq: 1, problem: expect.stringContaining("entries 1 to 3 are missing at the beginning of the chain") },
        ]);
        expect((await database.audit.verify(head)).broken).toMatchObject([{ seq: 1 }]);
        await here.sql(cut(5));
        expect((await database.audit.verify({ ...head, seq: 4 })).broken).toMatchObject([{ seq: 1 }, { seq: 4 }]);
      });

      it("does not let a purge hide a beginning that was removed", async () => {
        const old = new Date(Date.now() - 92 * DAY).toISOString();
        await database.audit.append([1, 2, 3, 4, 5].map(() => anEvent({ at: old })));
        await here.sql(cut(3));
        expect(await database.purge(new Date())).toMatchObject({ audit: 0 });
        expect((await database.audit.verify()).broken).toMatchObject([{ seq: 1 }]);
      });

      it("compares with a head that was noted earlier", async () => {
        await database.audit.append([1, 2, 3].map(() => anEvent()));
        const { head } = await database.audit.verify();
        await database.audit.append([4, 5].map(() => anEvent()));
        expect((await database.audit.verify(head)).broken).toBe(undefined);
        expect((await database.audit.verify({ seq: 0, hash: "0".repeat(64) })).broken).toBe(undefined);
        const other = { ...head, hash: "f".repeat(64) };
        expect((await database.audit.verify(other)).broken).toMatchObject([{ seq: 3 }]);
        const later = { seq: 9, hash: head.hash };
        expect((await database.audit.verify(later)).broken).toEqual([
          { seq: 9, problem: "the expected entry is missing: the chain ends at entry 5" },
        ]);
      });
    });

    describe("rollups", () => {
      const rollup = {
        period: "minute",
        start: at(0),
        rule_id: "r",
        allowed: 1,
        denied: 2,
        shadow_denied: 3,
        candidate_denied: 4,
      } as const;

      it("adds to what nodes have written into the same minute, also at the same time", async () => {
        const other = await open();
        const more = { ...rollup, rule_id: "s" };
        await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            [database, other][i % 2].rollups.add([rollup, more, rollup].toReversed()),
          ),
        );
        const found = await database.rollups.query({ period: "minute", from: at(0), to: at(1), limit: 10 });
        expect(found.items).toEqual([
          { ...rollup, allowed: 40, denied: 80, shadow_denied: 120, candidate_denied: 160 },
          { ...more, allowed: 20, denied: 40, shadow_denied: 60, candidate_denied: 80 },
        ]);
      });

      it("finds them by period, rule and time", async () => {
        await database.rollups.add([
          rollup,
          { ...rollup, start: at(1) },
          { ...rollup, start: at(2) },
          { ...rollup, period: "day" },
          { ...rollup, start: at(1), rule_id: "s" },
        ]);
        const starts = async (query: { rule_id?: string; from: string; to: string }) => {
          const { items } = await database.rollups.query({ period: "minute", limit: 10, ...query });
          return items.map(({ start, rule_id }) => [start, rule_id]);
        };
        expect(await starts({ from: at(0), to: at(2) })).toEqual([
          [at(0), "r"],
          [at(1), "r"],
          [at(1), "s"],
        ]);
        expect(await starts({ rule_id: "s", from: at(0), to: at(9) })).toEqual([[at(1), "s"]]);
        const days = await database.rollups.query({ period: "day", from: at(0), to: at(1), limit: 10 });
        expect(days.items).toHaveLength(1);
      });

      it("finds them by page, each once, also of one rule", async () => {
        const all = [0, 1, 2, 3].flatMap((minute) =>
          ["r", "s", "t"].map((rule_id) => ({ ...rollup, start: at(minute), rule_id })),
        );
        await database.rollups.add(all);
        const pages = async (limit: number, rule: { rule_id?: string } = {}) => {
          const sizes: number[] = [];
          const found: unknown[] = [];
          for (let cursor: string | undefined; ; ) {
            const page = await database.rollups.query({
              period: "minute",
              from: at(0),
              to: at(9),
              limit,
              ...rule,
              ...(cursor !== undefined && { cursor }),
            });
            sizes.push(page.items.length);
            found.push(...page.items);
            cursor = page.next;
            if (cursor === undefined) return { sizes, found };
          }
        };
        expect(await pages(5)).toEqual({ sizes: [5, 5, 2], found: all });
        expect(await pages(6)).toEqual({ sizes: [6, 6], found: all });
        expect(await pages(1, { rule_id: "s" })).toEqual({
          sizes: [1, 1, 1, 1],
          found: all.filter(({ rule_id }) => rule_id === "s"),
        });
      });

      it.each(["", "x", "bm8", "WzFd", "WyJhIiwxXQ", "WzEuNSwiYSJd"])("refuses the cursor %j", async (cursor) => {
        const query = { period: "minute", from: at(0), to: at(9), limit: 5, cursor } as const;
        await expect(database.rollups.query(query)).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "cursor" });
      });
    });

    describe("answers by idempotency key", () => {
      const now = new Date(at(0));
      const response = { status: 201, body: '{"a":1}', headers: { etag: '"1"' } };

      it("are claimed once, finished, and given again for five minutes", async () => {
        expect(await database.answered.claim("k", "f", now)).toBe(undefined);
        expect(await database.answered.claim("k", "g", now)).toEqual({ fingerprint: "f" });
        await database.answered.finish("k", response.status, response.body, response.headers);
        const justBefore = new Date(now.getTime() + 5 * MINUTE - 1);
        expect(await database.answered.claim("k", "f", justBefore)).toEqual({ fingerprint: "f", response });
        expect(await database.answered.claim("k", "g", new Date(now.getTime() + 5 * MINUTE))).toBe(undefined);
        expect(await database.answered.claim("k", "g", new Date(now.getTime() + 5 * MINUTE))).toEqual({
          fingerprint: "g",
        });
      });

      it("are free again when they are given up, unless they were finished", async () => {
        await database.answered.claim("k", "f", now);
        await database.answered.release("k");
        expect(await database.answered.claim("k", "f", now)).toBe(undefined);
        await database.answered.finish("k", response.status, response.body, response.headers);
        await database.answered.release("k");
        expect(await database.answered.claim("k", "f", now)).toMatchObject({ response });
      });

      it("go to one of many that claim at once", async () => {
        const other = await open();
        const claims = Array.from({ length: 20 }, (_, i) => [database, other][i % 2].answered.claim("k", `${i}`, now));
        expect((await Promise.all(claims)).filter((claim) => claim === undefined)).toHaveLength(1);
      });
    });

    describe("changes", () => {
      it("are reported here before the writer has its answer", async () => {
        const told = listen(database);
        await database.rules.create(aRule(), admin);
        expect(told).toEqual([{ kind: "rules" }]);
        await database.users.setTier("u", "free", admin);
        await database.users.setTier("v", "free", admin);
        await database.keys.add(aKey(), admin);
        await database.audit.append([anEvent()]);
        await database.rules.remove("none", admin);
        expect(told.slice(1)).toEqual([
          { kind: "user", user_id: "u" },
          { kind: "user", user_id: "v" },
          { kind: "keys" },
        ]);
      });

      it("reach another node within a second, once and in order", async () => {
        const other = await open();
        const told = listen(other);
        const begin = performance.now();
        await database.rules.create(aRule(), admin);
        await eventually("it is told", async () => told.length > 0);
        expect(performance.now() - begin).toBeLessThan(1_000);
        await database.users.addOverride(anOverride(), admin);
        await database.keys.add(aKey(), admin);
        await eventually("all are told", async () => told.length >= 3);
        await database.audit.append([anEvent()]);
        expect(told).toEqual([{ kind: "rules" }, { kind: "user", user_id: "u" }, { kind: "keys" }]);
      });

      it("are reported as all if there were too many to report", async () => {
        const other = await open();
        await here.sql(
          `insert into headgate_changes (revision, at, kind, user_id) with recursive n(i) as (select 1 union all
           select i + 1 from n where i < 1500) select i, 0, 'rules', null from n`,
        );
        const told = listen(other);
        await eventually("it is told", async () => told.length > 0);
        expect(told).toEqual([{ kind: "all" }]);
        await database.keys.add(aKey(), admin);
        await eventually("and goes on from there", async () => told.length > 1);
        expect(told[1]).toEqual({ kind: "keys" });
      });

      it("are reported as all if the database was restored to an earlier state", async () => {
        await database.rules.create(aRule(), admin);
        await database.rules.remove("rule", admin);
        const told = listen(database);
        await here.sql("delete from headgate_changes where revision = 2");
        await eventually("it is told", async () => told.length > 0);
        expect(told).toEqual([{ kind: "all" }]);
      });

      it("are not reported to a removed listener, and a failing listener does not affect others", async () => {
        const warnings: unknown[] = [];
        const warned = (warning: Error) => warnings.push(warning.message);
        process.on("warning", warned);
        const left = listen(database);
        database.onChange(() => left.push({ kind: "all" }))();
        database.onChange(() => {
          throw new Error("a listener's own");
        });
        const told = listen(database);
        await database.rules.create(aRule(), admin);
        await new Promise(setImmediate);
        process.off("warning", warned);
        expect(left).toEqual([{ kind: "rules" }]);
        expect(told).toEqual([{ kind: "rules" }]);
        expect(warnings).toEqual(["a listener's own"]);
      });
    });

    it("keeps the last report of each node about an hour", async () => {
      const other = await open();
      await database.denied.put("a", 1_000, "first");
      await database.denied.put("a", 1_000, '{"key":"\\u0000"}');
      await other.denied.put("b", 1_000, "b");
      await other.denied.put("b", 2_000, "later");
      expect(await database.denied.since(2_000)).toEqual([{ nodeId: "b", text: "later" }]);
      const reports = (await other.denied.since(1_000)).map(({ nodeId, text }) => `${nodeId} ${text}`);
      expect(reports.sort()).toEqual(['a {"key":"\\u0000"}', "b b", "b later"]);
    });

    describe("a purge", () => {
      const now = new Date();
      const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();

      it("removes what has outlived its time, and nothing else", async () => {
        const minute = {
          period: "minute",
          rule_id: "r",
          allowed: 1,
          denied: 0,
          shadow_denied: 0,
          candidate_denied: 0,
        } as const;
        await database.rollups.add([
          { ...minute, start: ago(31 * DAY) },
          { ...minute, start: ago(29 * DAY) },
          { ...minute, period: "day", start: ago(366 * DAY) },
          { ...minute, period: "day", start: ago(364 * DAY) },
        ]);
        await database.answered.claim("old", "f", new Date(now.getTime() - 5 * MINUTE));
        await database.answered.claim("young", "f", new Date(now.getTime() - 4 * MINUTE));
        await database.users.addOverride(anOverride({ expires_at: ago(31 * DAY) }), admin);
        await database.users.addOverride(anOverride({ expires_at: ago(29 * DAY) }), admin);
        await database.audit.append([anEvent({ at: ago(91 * DAY) })]);
        await database.denied.put("node", now.getTime() - 180 * MINUTE, "old");
        await database.denied.put("node", now.getTime() - 179 * MINUTE, "young");
        await database.nodes.put("stopped", now.getTime() - MINUTE, "old");
        await database.nodes.put("running", now.getTime() - MINUTE + 1, "young");
        expect(await database.purge(now)).toEqual({
          audit: 0,
          minute_rollups: 1,
          day_rollups: 1,
          answered: 1,
          overrides: 1,
          changes: 1,
          top_denied: 1,
          node_reports: 1,
        });
        expect(await database.nodes.since(0)).toEqual(["young"]);
        expect((await database.users.get("u")).overrides).toMatchObject([{ expires_at: ago(29 * DAY) }]);
        expect(await database.answered.claim("young", "g", now)).toEqual({ fingerprint: "f" });
        for (const period of ["minute", "day"] as const) {
          const { items } = await database.rollups.query({ period, from: ago(999 * DAY), to: ago(0), limit: 10 });
          expect(items).toHaveLength(1);
        }
      });

      it("takes the old end of the audit log, and what stays still verifies and grows", async () => {
        await database.audit.append(
          Array.from({ length: 2_500 }, (_, i) => anEvent({ at: ago((i < 2_300 ? 91 : 1) * DAY) })),
        );
        expect(await database.purge(now)).toMatchObject({ audit: 2_300 });
        const purged = await database.audit.verify();
        expect(purged).toMatchObject({ entries: 201, begins_after: { seq: 2_300 }, head: { seq: 2_501 } });
        await database.audit.append([anEvent()]);
        expect(await database.audit.verify()).toMatchObject({ entries: 202, head: { seq: 2_502 } });
        await here.sql("delete from headgate_audit where seq = 2301");
        expect((await database.audit.verify()).broken).toMatchObject([{ seq: 2_301 }]);
      });

      it("records how far it went, once for all that one purge removes", async () => {
        await database.audit.append(
          Array.from({ length: 2_500 }, (_, i) => anEvent({ at: ago((i < 2_300 ? 91 : 1) * DAY) })),
        );
        const [last] = (await database.audit.query({ limit: 1, cursor: cursorAt(2_301) })).items;
        await database.purge(now);
        const { items } = await database.audit.query({ action: "audit.purge", limit: 10 });
        const after = { purged_to: { seq: 2_300, hash: last.hash }, older_than: ago(90 * DAY) };
        expect(items).toMatchObject([{ seq: 2_501, subject: "audit", actor_id: "system", after }]);
        expect(await database.purge(now)).toMatchObject({ audit: 0 });
        expect((await database.audit.verify()).head.seq).toBe(2_501);
      });

      it("keeps the audit log for the configured time", async () => {
        await database.audit.append([anEvent({ at: ago(12 * DAY) }), anEvent({ at: ago(9 * DAY) })]);
        expect(await database.purge(now, { audit: 10 * DAY })).toMatchObject({ audit: 1 });
        expect((await database.audit.verify()).begins_after.seq).toBe(1);
      });

      it("waits until there is a day's worth of the audit log to remove", async () => {
        await database.audit.append([anEvent({ at: ago(90.5 * DAY) }), anEvent()]);
        expect(await database.purge(now)).toMatchObject({ audit: 0 });
        expect(await database.purge(new Date(now.getTime() + 0.5 * DAY))).toMatchObject({ audit: 1 });
      });

      it("continues a purge that was interrupted", async () => {
        await database.audit.append(
          Array.from({ length: 2_500 }, (_, i) => anEvent({ at: ago((i < 5 ? 92 : 90.5) * DAY) })),
        );
        const other = await open();
        const interrupted = other.purge(now).catch(({ code }) => code);
        await other.close();
        expect(await interrupted).toBe("HG_DATABASE_CLOSED");
        expect((await database.audit.verify()).broken).toBe(undefined);
        await database.purge(now);
        expect(await database.audit.verify()).toMatchObject({ entries: 1, begins_after: { seq: 2_500 } });
        expect((await database.audit.verify()).broken).toBe(undefined);
      });

      it("may take all of the audit log", async () => {
        await database.audit.append([anEvent({ at: ago(91 * DAY) })]);
        expect(await database.purge(now)).toMatchObject({ audit: 1 });
        expect(await database.audit.verify()).toMatchObject({ entries: 1, head: { seq: 2 } });
        expect((await database.audit.verify()).broken).toBe(undefined);
      });

      it("does not hide that the old end was tampered with", async () => {
        await database.audit.append([1, 2, 3].map(() => anEvent({ at: ago(91 * DAY) })));
        await here.sql("delete from headgate_audit where seq = 3");
        expect(await database.purge(now)).toMatchObject({ audit: 0 });
        expect((await database.audit.verify()).broken).toMatchObject([{ seq: 3 }]);
      });

      it("removes what comes before a gap, and stops there", async () => {
        await database.audit.append(Array.from({ length: 2_300 }, () => anEvent({ at: ago(91 * DAY) })));
        await here.sql("delete from headgate_audit where seq = 1500");
        expect(await database.purge(now)).toMatchObject({ audit: 1_000 });
        for (const again of [now, new Date(now.getTime() + 2 * DAY)]) {
          expect(await database.purge(again)).toMatchObject({ audit: 0 });
        }
        const { broken, begins_after } = await database.audit.verify();
        expect(begins_after.seq).toBe(1_000);
        expect(broken).toMatchObject([{ seq: 1_500 }]);
      });

      it("does not keep a change from another node", async () => {
        const other = await open();
        const told = listen(other);
        await database.rules.create(aRule(), admin);
        await database.purge(new Date(now.getTime() + 2 * DAY));
        await database.keys.add(aKey(), admin);
        await eventually("it is told", async () => told.some(({ kind }) => kind === "keys" || kind === "all"));
      });
    });

    it("opens at once for many nodes on an empty database", async () => {
      here = await place();
      const nodes = await Promise.all(Array.from({ length: 5 }, open));
      await Promise.all(nodes.map(({ users }, i) => users.setTier(`u${i}`, "free", admin)));
      expect(await nodes[0].audit.verify()).toMatchObject({ entries: 5 });
    });

    it("gets the indexes of its history when a newer version opens it", async () => {
      await database.close();
      await here.sql(BACK_TO_VERSION_0_1);
      await open();
      // It fails if they are not there.
      await here.sql("drop index headgate_audit_by_action_seq; drop index headgate_rollups_by_period_rule_id_start;");
    });

    it("takes over the rules of version 0.1, which had fewer fields", async () => {
      const rule = await database.rules.create(aRule(), admin);
      await database.close();
      await here.sql(BACK_TO_VERSION_0_1);
      const { rules } = await open();
      expect(await rules.all()).toEqual([rule]);
      expect(await rules.update(aRule({ algorithm: "fixed_window", anchor: "request" }), admin)).toMatchObject({
        anchor: "request",
        version: 2,
      });
    });

    it("is refused by a version that does not know its tables", async () => {
      await here.sql("insert into headgate_migrations (name, timestamp) values ('9999_later', '')");
      await expect(open()).rejects.toMatchObject({ name: "DatabaseError", code: "HG_DATABASE_NEWER_SCHEMA" });
    });

    it("answers a ping, lets what is under way end, and refuses all else when it is closed", async () => {
      await database.ping();
      const underway = database.rules.create(aRule(), admin);
      await database.close();
      expect(await underway).toMatchObject({ version: 1 });
      for (const call of [database.ping(), database.rules.all(), database.users.setTier("u", null, admin)]) {
        await expect(call).rejects.toMatchObject({ name: "DatabaseError", code: "HG_DATABASE_CLOSED" });
      }
      await database.close();
    });
  });
}

function listen(database: Database): Change[] {
  const told: Change[] = [];
  database.onChange((change) => told.push(change));
  return told;
}

function created(rule: { readonly created_at: string } | Conflict): string {
  if ("conflict" in rule) throw new Error(rule.conflict);
  return rule.created_at;
}

function cursorOf(place: unknown): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** So many minutes after some time. */
function at(minutes: number): string {
  return new Date(Date.UTC(2026, 0, 1) + minutes * MINUTE).toISOString();
}

function added(seq: number): string {
  return `insert into headgate_audit select ${seq}, at, actor_id, actor_name, action, subject, before, after, previous_hash, hash from headgate_audit where seq = 5`;
}

function anEvent(change: Partial<AuditEvent> = {}): AuditEvent {
  return {
    at: new Date().toISOString(),
    actor_id: "system",
    actor_name: "system",
    action: "limit.reset",
    subject: "user:u",
    before: null,
    after: null,
    ...change,
  };
}

function anOverride(change: { readonly user_id?: string; readonly expires_at?: string } = {}) {
  const expires_at = "2030-01-01T00:00:00.000Z";
  return { user_id: "u", rule_id: null, limit: 9, burst: null, reason: "launch", expires_at, ...change };
}

function aKey() {
  return {
    key_id: "k1",
    name: "first",
    roles: ["read", "write"] as const,
    namespace: "shop",
    hash: "ab".repeat(32),
    created_at: at(0),
    expires_at: at(9),
    revoked_at: null,
  };
}
