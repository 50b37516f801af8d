import ruleSchema from "headgate-server/rules.schema.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import {
  ALGORITHM_NAMES,
  BLANK,
  bodyOf,
  differences,
  draftOf,
  fieldsOf,
  isAbout,
  keptFields,
  RATE_ALGORITHMS,
} from "./rule-draft.ts";

describe("a draft of a rule", () => {
  it("states what was typed, with numbers as numbers and lists as lists", () => {
    const body = bodyOf({ ...BLANK, name: "Orders", endpoint_pattern: "/orders", methods: "post, put", limit: "5" });
    expect(body).toMatchObject({ name: "Orders", methods: ["post", "put"], limit: 5, window_seconds: 60 });
    expect(body).not.toHaveProperty("tier");
  });

  it("passes on values that are not numbers, for the service to reject", () => {
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
    const stored = { rule_id: "a", limit: 5, version: 3, created_at: "", updated_at: "", candidate: null, later: 1 };
    expect(keptFields(stored as never)).toEqual({ later: 1 });
    expect(keptFields(undefined)).toEqual({});
  });

  it("has every field of a rule", () => {
    const fields = Object.keys(ruleSchema.properties.rules.items.properties).filter((name) => name !== "rule_id");
    const form = Object.keys(BLANK).map((name) => name.split(".")[0]);
    expect(form).toEqual(expect.arrayContaining(fields));
    const candidate = Object.keys(BLANK).filter((name) => name.startsWith("candidate."));
    expect(candidate).toHaveLength(4);
  });

  it("states a trial only if one was typed, and reads it from a stored rule", () => {
    expect(bodyOf(BLANK)).not.toHaveProperty("candidate");
    const body = bodyOf({ ...BLANK, "candidate.limit": "50", "candidate.algorithm": "gcra", enforce_share: "0.1" });
    expect(body).toMatchObject({ candidate: { limit: 50, algorithm: "gcra" }, enforce_share: 0.1 });
    const stored = { limit: 9, candidate: { limit: 7, algorithm: null, burst: 3, window_seconds: null } };
    const draft = draftOf(stored as never);
    expect(draft).toMatchObject({
      limit: "9",
      "candidate.limit": "7",
      "candidate.burst": "3",
      "candidate.algorithm": "",
    });
    expect(bodyOf(draft)["candidate"]).toEqual({ limit: 7, burst: 3 });
    expect(differences(stored, { limit: 9, candidate: null })).toEqual([
      { field: "candidate.limit", before: "7", after: "" },
      { field: "candidate.burst", before: "3", after: "" },
    ]);
  });

  it("has no window with a calendar, and no time zone without one", () => {
    const fixed = { ...BLANK, algorithm: "fixed_window", time_zone: "Europe/Berlin", anchor: "request" };
    const monthly = bodyOf({ ...fixed, calendar: "month" });
    expect(monthly).toMatchObject({ calendar: "month", time_zone: "Europe/Berlin" });
    expect(monthly).not.toHaveProperty("window_seconds");
    expect(monthly).not.toHaveProperty("anchor");
    const plain = bodyOf(fixed);
    expect(plain).toMatchObject({ window_seconds: 60, anchor: "request" });
    expect(plain).not.toHaveProperty("time_zone");
  });

  it("states nothing about windows and trials for a limit on concurrent tasks", () => {
    const [slots] = ALGORITHM_NAMES.filter((name) => !RATE_ALGORITHMS.includes(name));
    const body = bodyOf({ ...BLANK, algorithm: slots, limit: "3", "candidate.limit": "4", mode: "shadow" });
    expect(body).toEqual({ dimension: "user", algorithm: slots, limit: 3, on_error: "local" });
  });

  it("shows an error at its field, also one about an entry or a part of the field", () => {
    for (const named of ["methods", "methods[0]"]) expect(isAbout(named, "methods")).toBe(true);
    expect(isAbout("limit", "methods")).toBe(false);
    expect(isAbout("anchor_day", "anchor")).toBe(false);
  });

  it("differs from the stored rule in the fields that were changed", () => {
    const stored = { name: "a", limit: 5, methods: ["GET"], tier: null, version: 3 };
    expect(differences(stored, { name: "a", limit: 6, methods: ["GET"], tier: null })).toEqual([
      { field: "limit", before: "5", after: "6" },
    ]);
  });
});
