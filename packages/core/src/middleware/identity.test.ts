import { describe, expect, it, vi } from "vitest";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { gateOf, now, rules } from "../../test/middleware/test-middleware.ts";
import { testLimiter } from "../testing/index.ts";
import type { By } from "./identity.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { Notice } from "./notices.ts";

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
    ["by several of these", ["ip", "user", { header: "x-api-key" }], '["ip:1.2.3.4","user:u7","header:k1"]'],
    ["by several, one with a promise", ["ip", async ({ user }) => user], '["ip:1.2.3.4","id:u7"]'],
  ])("%s", async (_name, by, key) => {
    expect(await left(by, request, key)).toBe(9);
  });

  it("leaves no rejection unheard when one part rejects and a later one throws", async () => {
    const unheard = vi.fn();
    process.on("unhandledRejection", unheard);
    const throwing = (): never => {
      throw new Error("later");
    };
    const { gate } = gateOf({ rules: "day", by: [() => Promise.reject(new Error("earlier")), throwing] });
    await expect(Promise.resolve().then(() => gate.admit(request))).rejects.toThrow(/earlier|later/);
    const { gate: costly } = gateOf({
      rules: "day",
      by: () => Promise.reject(new Error("earlier")),
      cost: throwing,
    });
    await expect(Promise.resolve().then(() => costly.admit(request))).rejects.toThrow("later");
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unheard);
    expect(unheard).not.toHaveBeenCalled();
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

  it("so that no identifier can be mistaken for an address", async () => {
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
    expect(notices[0].message).toContain("docs/guide/clients.md#requests-without-an-address");
  });
});

describe("a key of several parts", () => {
  it("differs if its parts do, wherever one ends and the next begins", async () => {
    const seen = new Set<string>();
    const values = ["", "a", "b", "a:b", ":", ",", '"', '","', "\\", "a|b", "\u0000", "\ud800", "\ud801", "id:a"];
    const pairs = values.flatMap((first) => values.map((second) => [first, second]));
    for (const [a, b] of pairs) {
      const { gate, limiter } = gateOf({ rules: "day", by: [() => `x${a}`, () => `x${b}`] });
      vi.spyOn(limiter, "checkSync").mockImplementation((_rule, key) => {
        seen.add(key);
        throw new Error("seen");
      });
      expect(() => gate.admit(request)).toThrow("seen");
    }
    expect(seen.size).toBe(pairs.length);
  });

  it("has the address in the place of a part that a request lacks", async () => {
    expect(await left(["ip", ({ user }) => user], { peer: "1.2.3.4" }, '["ip:1.2.3.4","ip:1.2.3.4"]')).toBe(9);
  });

  it("counts the guesses of one name from a whole IPv6 network, and those of another apart", () => {
    const { gate, limiter } = gateOf({ rules: "day", by: ["ip", ({ user }) => user] });
    const guess = (user: string, i: number) =>
      now(gate.admit({ peer: `2001:db8:1:2::${i.toString(16)}`, user })).allowed;
    const passed = Array.from({ length: 50 }, (_, i) => guess("ann", i + 1)).filter((allowed) => allowed);
    expect(passed).toHaveLength(10);
    expect(guess("bob", 1)).toBe(true);
    expect(limiter.store.stats).toMatchObject({ day: { keys: 2 } });
  });

  it.each<[string, unknown]>([
    ["by", []],
    ["by[1]", ["ip", ["ip"]]],
    ["by[0]", ["address"]],
    ["by[1].header", ["ip", { header: "bad name" }]],
  ])("is refused for its %s: %j", (field, by) => {
    expect(() => gateOf({ rules: "day", by: by as By<TestRequest> })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field }),
    );
  });
});

describe("a function that identifies the client", () => {
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

  it.each([7, null, {}, true])("is an error if it returns %s", (id) => {
    const { gate } = gateOf({ rules: "day", by: () => id as unknown as string });
    expect(() => gate.admit(request)).toThrow(expect.objectContaining({ code: "HG_BAD_KEY", field: "by" }));
  });
});

describe("a header that identifies the client", () => {
  it("must have a name that a header can have, and else is quoted", () => {
    const refused = expect.objectContaining({
      field: "by.header",
      message: expect.stringContaining(`must be a header's name, got "bad name"`),
    });
    expect(() => gateOf({ rules: "day", by: { header: "bad name" } })).toThrow(refused);
  });
});

describe("the user", () => {
  it("is missed once in a notice, and the request counted by address", () => {
    const notices: Notice[] = [];
    const { gate, limiter } = gateOf({ rules: "day", by: "user", onNotice: (notice) => notices.push(notice) });
    gate.admit(request);
    expect(notices).toEqual([]);
    for (let i = 0; i < 3; i += 1) gate.admit({ peer: "1.2.3.4" });
    expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(7);
    expect(notices.map(({ code }) => code)).toEqual(["HG_NO_USER"]);
    expect(notices[0].message).toContain("docs/guide/clients.md#users");
  });

  it("must be known to the framework", () => {
    const { limiter } = testLimiter(rules);
    const { peer, header } = testAdapter;
    expect(() => new RateLimitMiddleware(limiter, { rules: "api", by: "user" }, { peer, header })).toThrow(
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
