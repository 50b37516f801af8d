import { describe, expect, it } from "vitest";
import { Gate } from "../../src/http/gate.ts";
import type { By } from "../../src/http/identity.ts";
import type { Notice } from "../../src/http/notices.ts";
import { testLimiter } from "../../src/testing/index.ts";
import { gateOf, now, rules } from "./gates.ts";
import { face, type TestRequest } from "./request.ts";

/** How much of ten is left for a key, after a request counted in this way. */
async function left(by: By<TestRequest>, request: TestRequest, key: string): Promise<number> {
  const { gate, limiter } = gateOf({ rules: "day", by });
  await gate.admit(request);
  return limiter.peekSync("day", key).remaining;
}

const request: TestRequest = { peer: "::ffff:1.2.3.4", user: "u7", headers: { "x-api-key": "k1" } };

describe("a request is counted", () => {
  it.each<[string, By<TestRequest>, string]>([
    ["by address", "ip", "ip:1.2.3.4"],
    ["by user", "user", "user:u7"],
    ["by a header", { header: "X-Api-Key" }, "header:k1"],
    ["by a function", ({ user }) => `tenant-${user}`, "id:tenant-u7"],
    ["by a function with a promise", async ({ user }) => user, "id:u7"],
  ])("%s", async (_name, by, key) => {
    expect(await left(by, request, key)).toBe(9);
  });

  it.each<[string, By<TestRequest>]>([
    ["user", "user"],
    ["such header", { header: "x-api-key" }],
    ["answer of the function", () => undefined],
    ["answer in the end", async () => undefined],
    ["more than an empty answer", () => ""],
  ])("by address if there is no %s", async (_name, by) => {
    expect(await left(by, { peer: "2001:db8::1" }, "ip:2001:db8:0:0::/64")).toBe(9);
  });

  it("so that nobody can pass for an address by what he calls himself", async () => {
    const by: By<TestRequest> = { header: "x-api-key" };
    const { gate, limiter } = gateOf({ rules: "day", by });
    for (const name of ["1.2.3.4", "ip:1.2.3.4"]) gate.admit({ peer: "6.6.6.6", headers: { "x-api-key": name } });
    expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(10);
  });

  it("with all others that have no address, and that is said once", () => {
    const notices: Notice[] = [];
    const { gate, limiter } = gateOf({ rules: "day", onNotice: (notice) => notices.push(notice) });
    expect(now(gate.admit({})).allowed).toBe(true);
    gate.admit({ peer: "" });
    expect(limiter.peekSync("day", "ip:unknown").remaining).toBe(8);
    expect(notices.map(({ code }) => code)).toEqual(["HG_NO_CLIENT_ADDRESS"]);
    expect(notices[0].message).toContain("docs/clients.md#no-address");
  });
});

describe("a function that says by whom", () => {
  it("is a mistake if it throws or rejects: that goes through, and nothing is charged", async () => {
    const thrown = gateOf({
      rules: "day",
      by: () => {
        throw new TypeError("no session");
      },
    });
    expect(() => thrown.gate.admit(request)).toThrow("no session");
    const rejected = gateOf({ rules: "day", by: () => Promise.reject(new TypeError("no session")) });
    await expect(rejected.gate.admit(request)).rejects.toThrow("no session");
    expect(thrown.limiter.store.stats).toMatchObject({ day: { keys: 0 } });
    expect(rejected.limiter.store.stats).toMatchObject({ day: { keys: 0 } });
  });

  it.each([7, null, {}, true])("is a mistake if it says %s", (id) => {
    const { gate } = gateOf({ rules: "day", by: () => id as unknown as string });
    expect(() => gate.admit(request)).toThrow(expect.objectContaining({ code: "HG_BAD_KEY", field: "by" }));
  });
});

describe("a header that says by whom", () => {
  it("must have a name that a header can have, and else is quoted", () => {
    const refused = expect.objectContaining({
      field: "by.header",
      message: expect.stringContaining(`must be a header's name, got "bad name"`),
    });
    expect(() => gateOf({ rules: "day", by: { header: "bad name" } })).toThrow(refused);
  });
});

describe("the user", () => {
  it("must be known to the framework", () => {
    const { limiter } = testLimiter(rules);
    const { peer, header } = face;
    expect(() => new Gate(limiter, { rules: "api", by: "user" }, { peer, header })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "by" }),
    );
  });
});

describe("a promise of another library", () => {
  it("is waited for, too", async () => {
    // biome-ignore lint/suspicious/noThenProperty: such promises are what this is about
    const by = () => ({ then: (resolve: (id: string) => void) => resolve("u9") }) as unknown as Promise<string>;
    expect(await left(by, request, "id:u9")).toBe(9);
  });
});
