import { afterAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";
import { admin } from "./fixtures.ts";
import { SqlitePlaces } from "./places.ts";

const places = new SqlitePlaces();
afterAll(() => places.remove());

const DAY = 86_400_000;

describe("overrides of one user", () => {
  it("are at most 1,000 in force; those that have expired do not count", async () => {
    const place = places.next();
    const database = await openDatabase(place.options);
    try {
      const { users } = database;
      const expires_at = new Date(Date.now() + DAY).toISOString();
      const override = { user_id: "ann", rule_id: null, limit: 5, burst: null, reason: "a sale", expires_at };
      const first = await users.addOverride(override, admin);
      // 998 more that are in force, and 500 that were.
      await place.sql(`
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1498)
        insert into headgate_overrides
          (override_id, user_id, rule_id, "limit", burst, reason, expires_at, created_at, created_by)
        select 'o' || n, 'ann', null, 5, null, 'a sale',
          ${Date.now()} + case when n <= 998 then ${DAY} else -${DAY} end, ${Date.now()}, 'k0' from numbers`);
      await users.addOverride(override, admin);
      await expect(users.addOverride(override, admin)).rejects.toMatchObject({
        code: "HG_BAD_OPTION",
        field: "overrides",
        message: expect.stringContaining("at most 1000"),
      });
      await users.addOverride({ ...override, user_id: "bob" }, admin);
      await users.removeOverride("ann", first.override_id, admin);
      await users.addOverride(override, admin);
    } finally {
      await database.close();
    }
  });
});
