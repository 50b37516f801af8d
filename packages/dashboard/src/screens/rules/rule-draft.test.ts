import { describe, expect, it } from "vitest";
import { ALGORITHM_NAMES, BLANK, bodyOf, differences, fieldsOf, keptFields } from "./rule-draft.ts";

describe("a draft of a rule", () => {
  it("states what was typed, with numbers as numbers and lists as lists", () => {
    const body = bodyOf({ ...BLANK, name: "Orders", endpoint_pattern: "/orders", methods: "post, put", limit: "5" });
    expect(body).toMatchObject({ name: "Orders", methods: ["post", "put"], limit: 5, window_seconds: 60 });
    expect(body).not.toHaveProperty("tier");
  });

  it("passes on what is no number, for the service to complain about", () => {
    expect(bodyOf({ ...BLANK, limit: "many" })).toMatchObject({ limit: "many" });
  });

  it("leaves out fields of other algorithms", () => {
    const withBurst = ALGORITHM_NAMES.filter((name) => fieldsOf(name).some((field) => field.name === "burst"));
    expect(withBurst.length).toBeGreaterThan(0);
    for (const algorithm of ALGORITHM_NAMES) {
      const hasBurst = "burst" in bodyOf({ ...BLANK, algorithm, burst: "3" });
      expect([algorithm, hasBurst]).toEqual([algorithm, withBurst.includes(algorithm)]);
    }
  });

  it("keeps the fields of a stored rule that the form does not have", () => {
    const stored = { rule_id: "a", limit: 5, version: 3, created_at: "", updated_at: "", enforce_share: 0.1 };
    expect(keptFields(stored as never)).toEqual({ enforce_share: 0.1 });
    expect(keptFields(undefined)).toEqual({});
  });

  it("differs from the stored rule in the fields that were changed", () => {
    const stored = { name: "a", limit: 5, methods: ["GET"], tier: null, version: 3 };
    expect(differences(stored, { name: "a", limit: 6, methods: ["GET"], tier: null })).toEqual([
      { field: "limit", before: "5", after: "6" },
    ]);
  });
});
