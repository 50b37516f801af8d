import { describe, expect, it } from "vitest";
import type { Passed } from "../../../../src/middleware/admission.ts";
import type { MiddlewareOptions } from "../../../../src/middleware/middleware-options.ts";
import type { Ending } from "../../../../src/middleware/refund-on.ts";
import type { Framework, Name, Reply } from "../framework.ts";
import { closesSites, inMemory, KEY, route, siteOf } from "./site.ts";

const ok: Reply = { status: 200, body: "ok" };

function broken(): never {
  throw new TypeError("broken");
}

export function correctingSuite<Request>(framework: Framework<Request>): void {
  /** Sends a request to a route; answers its status, and what is left of ten. */
  async function after(
    options: MiddlewareOptions<Name, Request>,
    handle: (passed: Passed | undefined) => Reply | Promise<Reply>,
  ) {
    const { limiter } = inMemory();
    const site = await siteOf(framework, { "/": route(limiter, options, handle) });
    const response = await site.fetch("/");
    await response.text();
    return { status: response.status, left: () => limiter.peekSync("day", KEY).remaining };
  }

  describe(`${framework.name}: a refund`, () => {
    closesSites();

    it.each<[string, () => Reply, number]>([
      ["a handler answers 500", () => ({ status: 500, body: "" }), 500],
      ["a handler throws", broken, 500],
    ])("is given where %s", async (_name, handle, expected) => {
      const { status, left } = await after({ rules: "day", cost: 3, refundOn: "5xx" }, handle);
      expect(status).toBe(expected);
      await expect.poll(left).toBe(10);
    });

    it.each<[string, () => Reply, Ending]>([
      ["a handler answers well", () => ok, { status: 200, aborted: false }],
      ["a handler finds nothing", () => ({ status: 404, body: "none" }), { status: 404, aborted: false }],
      ["there is no body", () => ({ status: 204, body: "" }), { status: 204, aborted: false }],
      ["a handler throws", broken, { status: 500, aborted: false }],
    ])("is judged by how the request ended, once: %s", async (_name, handle, ending) => {
      const endings: Ending[] = [];
      const refundOn = (ending: Ending) => endings.push(ending) > 1;
      const { left } = await after({ rules: "day", refundOn }, handle);
      await expect.poll(() => endings).toEqual([ending]);
      expect(left()).toBe(9);
    });
  });

  describe(`${framework.name}: a reserved cost`, () => {
    const options: MiddlewareOptions<Name, Request> = { rules: { rule: "day", reserve: 6 } };
    closesSites();

    it.each([2, 9])("is replaced by the real one of %d, which the handler reports", async (cost) => {
      const handle = async (passed: Passed | undefined) => {
        await passed?.settle(cost);
        return ok;
      };
      const { left } = await after(options, handle);
      expect(left()).toBe(10 - cost);
    });

    it("is reached behind another gate, which reserves nothing", async () => {
      const { limiter } = inMemory();
      const handle = async (passed: Passed | undefined) => {
        await passed?.settle(9);
        return ok;
      };
      const gates = [options, "api" as const].map((asked) => ({ limiter, asked }));
      const site = await siteOf(framework, { "/": { gates, handle } });
      expect((await site.fetch("/")).status).toBe(200);
      expect(limiter.peekSync("day", KEY).remaining).toBe(1);
      expect(limiter.peekSync("api", KEY).remaining).toBe(1);
    });

    it("may be settled after the response", async () => {
      let settle: (() => Promise<void>) | undefined;
      const handle = (passed: Passed | undefined) => {
        settle = () => passed?.settle(1) ?? Promise.reject(new Error("no admission"));
        return ok;
      };
      const { left } = await after(options, handle);
      expect(left()).toBe(4);
      await settle?.();
      expect(left()).toBe(9);
    });

    it("is given back if the handler fails first", async () => {
      const { left } = await after(options, broken);
      await expect.poll(left).toBe(10);
    });

    it("comes with what was decided", async () => {
      let decided: unknown;
      const handle = (passed: Passed | undefined) => {
        decided = passed?.decided;
        return ok;
      };
      await after(options, handle);
      expect(decided).toMatchObject({ allowed: true, remaining: 4 });
    });
  });
}
