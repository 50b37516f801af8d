import { describe, expect, it } from "vitest";
import type { MiddlewareOptions } from "../../../../src/middleware/middleware-options.ts";
import type { Framework, Name } from "../framework.ts";
import { closesSites, farAway, inMemory, route, siteOf } from "./site.ts";

function noSession(): never {
  throw new TypeError("no session");
}

function nothingThrown(): never {
  throw undefined;
}

export function mistakesSuite<Request>(framework: Framework<Request>): void {
  describe(`${framework.name}: a mistake`, () => {
    closesSites();

    it.each<[string, unknown, string, string]>([
      ["a rule that does not exist", "apy", "HG_UNKNOWN_RULE", "rule"],
      ["such a rule among others", { rules: ["api", "dya"] }, "HG_UNKNOWN_RULE", "rule"],
      ["an option that does not exist", { rules: "api", onDeny: () => {} }, "HG_BAD_OPTION", "options.onDeny"],
      ["an option that cannot be", { rules: "api", onDenied: "no" }, "HG_BAD_OPTION", "onDenied"],
      ["no options", null, "HG_BAD_OPTION", "options"],
    ])("is found at the start: %s", async (_name, asked, code, field) => {
      const { limiter } = inMemory();
      const started = siteOf(framework, { "/": route(limiter, asked as MiddlewareOptions<Name, Request>) });
      await expect(started).rejects.toThrow(expect.objectContaining({ code, field }));
    });

    it.each<[string, Partial<MiddlewareOptions<Name, Request>>]>([
      ["a `by` that throws", { by: noSession }],
      ["a `by` that rejects", { by: async () => noSession() }],
      // Some frameworks take a thrown value that is not an error as permission to continue.
      ["a `by` that throws nothing", { by: nothingThrown }],
      ["a `by` that rejects with nothing", { by: () => Promise.reject() }],
      ["a `by` that rejects with a word", { by: () => Promise.reject("route") }],
      ["a `by` that says no string", { by: () => 7 as unknown as string }],
      ["a cost that is none", { cost: () => Number.NaN }],
      ["a `skip` that throws", { skip: noSession }],
    ])("goes to the framework's error handler, and nothing is charged: %s", async (_name, options) => {
      for (const { limiter, used } of [memory(), far()]) {
        let handled = 0;
        const handle = () => {
          handled += 1;
          return { status: 200, body: "ok" };
        };
        const site = await siteOf(framework, { "/": route(limiter, { rules: "day", ...options }, handle) });
        const response = await site.fetch("/");
        expect(response.status).toBe(500);
        expect(await response.text()).not.toContain("quota");
        expect([handled, used()]).toEqual([0, 0]);
      }
    });
  });
}

function memory() {
  const { limiter } = inMemory();
  const used = () => {
    const { day } = limiter.store.stats;
    return day.keys;
  };
  return { limiter, used };
}

function far() {
  const { limiter, store } = farAway();
  return { limiter, used: () => store.calls.length };
}
