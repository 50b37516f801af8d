import type { Rule, Store } from "headgate";
import { describe, expect, it } from "vitest";
import { request, rule, world } from "../../test/checks/fixtures.ts";
import { Catalogue } from "../rules/catalogue.ts";
import { openStores } from "./counter-stores.ts";

const ADMIN = { id: "key-1", name: "Ada" };
const rules = [
  rule(),
  rule({ rule_id: "orders", endpoint_pattern: "/api/v1/orders", algorithm: "token_bucket" }),
  rule({ rule_id: "other", endpoint_pattern: "/other" }),
  rule({ rule_id: "premium", endpoint_pattern: "/other", tier: "premium", limit: 50 }),
  rule({ rule_id: "watched", endpoint_pattern: "/api/**", mode: "shadow" }),
  rule({ rule_id: "keys", dimension: "apikey" }),
];

async function used() {
  const made = await world(rules);
  for (const endpoint of ["/api/v1/orders", "/other"]) {
    await made.service.check(request({ endpoint, cost: 3 }));
    await made.service.check(request({ endpoint, identifier: "43", cost: 3 }));
  }
  const counts = async (identifier = "42"): Promise<Record<string, number>> => {
    const shown = await Promise.all(
      ["/api/v1/orders", "/other"].map((endpoint) => made.service.peek(request({ endpoint, identifier }))),
    );
    return Object.fromEntries(
      shown
        .flatMap(({ limits, shadow_limits }) => [...limits, ...shadow_limits])
        .map(({ rule_id, current_count }) => [rule_id, current_count]),
    );
  };
  return { ...made, counts };
}

describe("a reset", () => {
  it("forgets what an identity has used under all rules that match an endpoint, shadows among them", async () => {
    const { service, counts } = await used();
    const { reset } = await service.reset({ identifier: "42", dimension: "user", endpoint: "/api/v1/orders" }, ADMIN);
    expect([...reset].sort()).toEqual(["all", "orders", "watched"]);
    expect(await counts()).toEqual({ all: 0, orders: 0, watched: 0, other: 3 });
    expect(await counts("43")).toEqual({ all: 6, orders: 3, watched: 3, other: 3 });
  });

  it("without an endpoint forgets all of the dimension", async () => {
    const { service, counts } = await used();
    const { reset } = await service.reset({ identifier: "42", dimension: "user" }, ADMIN);
    expect([...reset].sort()).toEqual(["all", "orders", "other", "premium", "watched"]);
    expect(await counts()).toEqual({ all: 0, orders: 0, watched: 0, other: 0 });
    expect(await counts("43")).toEqual({ all: 6, orders: 3, watched: 3, other: 3 });
  });

  it("makes the state normal again", async () => {
    const { service, told } = await world([rule({ limit: 1 })]);
    await service.check(request());
    await service.reset({ identifier: "42", dimension: "user" }, ADMIN);
    expect((await service.peek(request({ cost: 0 }))).decisive).toMatchObject({ state: "normal" });
    expect((await service.check(request())).decisive).toMatchObject({ state: "throttled" });
    expect(told.transitions).toEqual(["all: normal -> throttled", "all: normal -> throttled"]);
  });

  it("is audited before it is answered: actor, subject and rules", async () => {
    const { service, audited } = await used();
    await service.reset({ identifier: "42", dimension: "user", endpoint: "/other" }, ADMIN);
    expect(audited).toMatchObject([
      {
        actor_id: "key-1",
        actor_name: "Ada",
        action: "limit.reset",
        subject: "user:42",
        after: { endpoint: "/other", rules: ["all", "other"] },
      },
    ]);
  });

  it("is done, and audited later, when the database is gone", async () => {
    let gone = true;
    const written: unknown[] = [];
    const append = async (events: readonly unknown[]): Promise<void> => {
      if (gone) throw new Error("gone");
      written.push(...events);
    };
    const { service } = await world(rules, { append });
    await service.reset({ identifier: "42", dimension: "user" }, ADMIN);
    gone = false;
    await service.close();
    expect(written).toMatchObject([{ action: "limit.reset" }]);
  });

  it.each([
    [{ identifier: "" }, "identifier"],
    [{ identifier: "x", dimension: "ip" as const }, "identifier"],
    [{ endpoint: "x".repeat(8_193) }, "endpoint"],
  ])("of %o is refused by the name of the field", async (fields, field) => {
    const { service } = await world(rules);
    const asked = { identifier: "42", dimension: "user" as const, ...fields };
    await expect(service.reset(asked, ADMIN)).rejects.toMatchObject({ name: "RequestError", field });
  });

  describe("without an endpoint, of very many rules", () => {
    const many = Array.from({ length: 3_000 }, (_, i) => rule({ rule_id: `r${i}`, endpoint_pattern: `/r${i}` }));

    it("is done in turns, and leaves nothing behind for rules that were never asked", async () => {
      const made = await world(many);
      await made.service.check(request({ endpoint: "/r2999", cost: 5 }));
      expect(made.stores.stats.memoryKeys?.()).toBe(1);
      let turns = 0;
      let going = true;
      const other = (): void => {
        turns += 1;
        if (going) setImmediate(other);
      };
      setImmediate(other);
      const { reset } = await made.service.reset({ identifier: "42", dimension: "user" }, ADMIN);
      going = false;
      expect(reset).toHaveLength(3_000);
      expect(turns).toBeGreaterThan(0);
      expect((await made.service.peek(request({ endpoint: "/r2999" }))).decisive?.current_count).toBe(0);
      expect(made.stores.mayHold?.(ruleOf("/r2999"))).toBe(true);
      expect(made.stores.mayHold?.(ruleOf("/r1"))).toBe(false);
    });

    it("names a hundred of them in the audit log, and says how many more", async () => {
      const { service, audited } = await world(many);
      await service.reset({ identifier: "42", dimension: "user" }, ADMIN);
      expect(audited).toMatchObject([{ action: "limit.reset", after: { endpoint: null, more: 2_900 } }]);
      expect((audited[0].after as { rules: string[] }).rules).toHaveLength(100);
    });

    it("asks the stores for some at a time", async () => {
      const sizes: number[] = [];
      const { service } = await world(many, {
        stores: async (clock) => {
          const stores = await openStores({ redis: undefined, zookeeper: undefined, nodes: 1 }, {}, clock);
          const { mayHold: _, ...others } = stores;
          const apply: Store["apply"] = (action, operations, options) => {
            sizes.push(operations.length);
            return stores.strict.apply(action, operations, options);
          };
          return { ...others, strict: { apply } };
        },
      });
      await service.reset({ identifier: "42", dimension: "user" }, ADMIN);
      expect(sizes).toEqual(Array(30).fill(100));
    });
  });
});

function ruleOf(endpoint_pattern: string): Rule {
  return Catalogue.of([rule({ endpoint_pattern })]).limitsAt("user", endpoint_pattern)[0].rule;
}
