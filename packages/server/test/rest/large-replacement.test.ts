import { afterEach, describe, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

/** One that is read by this thread, and one that is read by another. */
const SIZES = [2, 2_000];

function rules(count: number, last: object = {}): object[] {
  return Array.from({ length: count }, (_, i) =>
    Object.assign(ruleOf({ rule_id: `r${i}`, endpoint_pattern: `/r${i}` }), i === count - 1 && last),
  );
}

describe.each(SIZES)("a replacement by %d rules", (count) => {
  it("is made as a whole", async () => {
    service = await startService();
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count) } });
    expect([status, body.created.length, body.removed]).toEqual([200, count, ["orders"]]);
    expect((await service.ask("GET", `/api/v1/rules/r${count - 1}`)).body).toMatchObject({ version: 1, limit: 3 });
  });

  it.each([
    ["a limit of zero", { limit: 0 }, "limit", "must be a whole number from 1 to 2^53 - 1"],
    ["a field that nobody knows", { color: "red" }, "color", "is not known here"],
    ["a pattern without a slash", { endpoint_pattern: "x" }, "endpoint_pattern", expect.stringContaining("slash")],
  ])("is refused with %s, and the field is named", async (_, last, field, problem) => {
    service = await startService();
    const { status, body } = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count, last) } });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(body.errors).toEqual([{ in: "body", field: `rules.${count - 1}.${field}`, problem }]);
    expect((await service.ask("GET", "/api/v1/rules/orders")).status).toBe(200);
  });

  it("is refused if it is no list, or has more than that", async () => {
    service = await startService();
    const more = await service.ask("PUT", "/api/v1/rules", { body: { rules: rules(count), color: "red" } });
    expect([more.status, more.body.errors]).toMatchObject([400, [{ field: "color", problem: "is not known here" }]]);
    const none = await service.ask("PUT", "/api/v1/rules", { body: { rules: Object.assign({}, rules(count)) } });
    expect([none.status, none.body.errors]).toMatchObject([400, [{ in: "body", field: "rules" }]]);
  });
});
