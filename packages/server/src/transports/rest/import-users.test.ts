import { describe, expect, it } from "vitest";
import { sampleRule } from "../../../test/rules/sample-rule.ts";
import { Catalogue } from "../../rules/catalogue.ts";
import { atOnce } from "../../rules/cooperative-work.ts";
import type { RateLimitRule } from "../../rules/rule.ts";
import { checkImport } from "./import-users.ts";

describe("an import of users", () => {
  it("does not go through all rules to find the names in it", () => {
    let reads = 0;
    const counted = (rule: RateLimitRule): RateLimitRule =>
      new Proxy(rule, {
        get(target, field) {
          reads += 1;
          return Reflect.get(target, field);
        },
      });
    const rules = Array.from({ length: 1_000 }, (_, i) =>
      counted(sampleRule({ rule_id: `r${i}`, endpoint_pattern: `/r${i}`, tier: i < 500 ? "gold" : null })),
    );
    const catalogue = Catalogue.of(rules);
    reads = 0;
    const users = [{ user_id: "ann", tier: "gold", custom_limits: { r7: { limit: 5 } } }];
    const { warnings } = atOnce(checkImport(users, catalogue));
    expect(warnings).toEqual([]);
    expect(reads).toBeLessThan(50);
    const unknown = [{ user_id: "ann", tier: "golden", custom_limits: { r7: { limit: 5 } } }];
    expect(atOnce(checkImport(unknown, catalogue)).warnings).toMatchObject([{ field: "users[0].tier" }]);
    expect(() => atOnce(checkImport([{ user_id: "ann", custom_limits: { r: { limit: 5 } } }], catalogue))).toThrow(
      "is not an existing rule",
    );
  });
});
