import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import type { RuleInput } from "../../src/rules/rule.ts";
import { admin, aRule, type Place } from "./fixtures.ts";

/** Too many to be replaced by this thread, or to be read in one go. */
const MANY = 1_200;

function many(limit: number, count = MANY): RuleInput[] {
  return Array.from({ length: count }, (_, i) =>
    aRule({ rule_id: `r${i}`, endpoint_pattern: `/r${i}`, name: `R "${i}" é`, limit }),
  );
}

/** What holds on every database while many rules are replaced. */
export function describeLargeChanges(name: string, place: () => Promise<Place>): void {
  describe(`many rules on ${name}`, () => {
    let here: Place;
    let database: Database;
    let other: Database;
    beforeEach(async () => {
      here = await place();
      [database, other] = [await openDatabase(here.options), await openDatabase(here.options)];
    });
    afterEach(async () => {
      await other.close();
      await database.close();
    });

    async function limits(): Promise<readonly number[]> {
      return [...new Set((await database.rules.all()).map(({ limit }) => limit))];
    }

    it("are replaced as few are: what is the same stays, and each change is in the audit log", async () => {
      await database.rules.replace(many(1), admin);
      const before = await database.rules.all();
      const wanted = [...many(1, 600), ...many(2).slice(600, 900), aRule({ rule_id: "new", endpoint_pattern: "/new" })];
      const replaced = await database.rules.replace(wanted, admin);
      expect([replaced.created, replaced.updated.length, replaced.removed.length, replaced.unchanged]).toEqual([
        ["new"],
        300,
        300,
        600,
      ]);
      const after = new Map((await database.rules.all()).map((rule) => [rule.rule_id, rule]));
      expect(after.size).toBe(901);
      expect(after.get("r1")).toEqual(before.find(({ rule_id }) => rule_id === "r1"));
      expect(after.get("r700")).toMatchObject({ ...many(2)[700], version: 2 });
      const { items } = await database.audit.query({ subject: "rule:r700", limit: 10 });
      expect(items).toMatchObject([
        { action: "rule.update", actor_name: admin.name, before: { limit: 1 }, after: { limit: 2 } },
        { action: "rule.create" },
      ]);
      expect(await database.audit.verify()).toMatchObject({ entries: MANY + 601 });
    });

    it("are removed by one change", async () => {
      await database.rules.replace(many(1), admin);
      expect((await database.rules.replace([], admin)).removed).toHaveLength(MANY);
      expect(await database.rules.all()).toEqual([]);
    });

    it("are all refused, and those before stay, if two of them cannot be there at once", async () => {
      await database.rules.replace(many(1), admin);
      const twice = [...many(2), aRule({ rule_id: "twin", endpoint_pattern: "/r7" })];
      await expect(database.rules.replace(twice, admin)).rejects.toMatchObject({
        name: "HeadgateError",
        code: "HG_BAD_RULES",
        field: "twin",
        message: expect.stringMatching(/^twin: has the same dimension, pattern, methods, window and tier as r7/),
      });
      expect(await limits()).toEqual([1]);
    });

    it("are there as they were or as they will be, while they are replaced", async () => {
      await database.rules.replace(many(1), admin);
      let isDone = false;
      const replacing = database.rules.replace(many(2), admin).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        for (const node of [database, other]) {
          const seen = await node.rules.all();
          expect([seen.length, new Set(seen.map(({ limit }) => limit)).size]).toEqual([MANY, 1]);
        }
      }
      await replacing;
      expect(await limits()).toEqual([2]);
    });

    it("are replaced after what was asked for before, and before what was asked for later", async () => {
      const early = database.rules.create(aRule({ rule_id: "early", endpoint_pattern: "/early" }), admin);
      const large = database.rules.replace(many(1), admin);
      const late = [
        database.rules.create(aRule({ rule_id: "late", endpoint_pattern: "/late", limit: 3 }), admin),
        database.rules.update({ ...many(1)[5], limit: 2 }, admin),
        database.users.setTier("u", "free", admin),
        database.audit.append([]),
        database.rollups.add([]),
      ];
      const [made] = await Promise.all([early, large, ...late]);
      expect(made).toMatchObject({ version: 1 });
      expect((await large).removed).toEqual(["early"]);
      expect((await limits()).toSorted()).toEqual([1, 2, 3]);
      expect(await database.rules.get("r5")).toMatchObject({ limit: 2, version: 2 });
    });

    it("are those of the last change, if several are made at once", async () => {
      await Promise.all([1, 2, 3].map((limit) => database.rules.replace(many(limit), admin)));
      expect(await limits()).toEqual([3]);
      // A failed one does not block the next.
      const twice = [...many(4), many(4)[0]];
      const [failed] = await Promise.allSettled([
        database.rules.replace(twice, admin),
        database.rules.replace(many(5), admin),
      ]);
      expect(failed.status).toBe("rejected");
      expect(await limits()).toEqual([5]);
    });

    it("are reported as one change, here and elsewhere", async () => {
      const told: string[] = [];
      const heard = new Promise<void>((resolve) => {
        other.onChange(({ kind }) => {
          told.push(`there: ${kind}`);
          resolve();
        });
      });
      database.onChange(({ kind }) => told.push(`here: ${kind}`));
      await database.rules.replace(many(1), admin);
      expect(told).toContain("here: rules");
      await heard;
      expect(told.toSorted()).toEqual(["here: rules", "there: rules"]);
    });

    it("are replaced to the end when the database is closed meanwhile", async () => {
      const replacing = database.rules.replace(many(1), admin);
      await database.close();
      expect((await replacing).created).toHaveLength(MANY);
      expect(await other.rules.all()).toHaveLength(MANY);
    });
  });
}
