import { describe, expect, it } from "vitest";
import type { Passed } from "../../../../src/middleware/admission.ts";
import type { Ending } from "../../../../src/middleware/refund-on.ts";
import type { Framework, Reply } from "../framework.ts";
import { closesSites, farAway, inMemory, KEY, route, siteOf } from "./site.ts";

/** A handler that waits until the test resumes it. */
function waiting() {
  let goOn = () => {};
  const told = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const passes: (Passed | undefined)[] = [];
  const handle = async (passed: Passed | undefined): Promise<Reply> => {
    passes.push(passed);
    await told;
    return { status: 200, body: "too late" };
  };
  return { passes, handle, goOn };
}

export function abortingSuite<Request>(framework: Framework<Request>): void {
  describe(`${framework.name}: a client that leaves`, () => {
    closesSites();

    it.each(["passes", "is refused"])(
      "while the store is asked whether it passes, and %s, is not served",
      async (which) => {
        const { limiter, store, clock } = farAway(1_000);
        const endings: Ending[] = [];
        const refundOn = (ending: Ending) => endings.push(ending) > 0;
        const { passes, handle } = waiting();
        const cost = () => (which === "passes" ? 4 : 11);
        const site = await siteOf(framework, { "/": route(limiter, { rules: "day", cost, refundOn }, handle) });
        const visit = site.fetchAndLeave("/");
        await expect.poll(() => store.calls.length).toBe(1);
        await visit.leave();
        await clock.advance(1_000);
        if (which === "passes") {
          await expect.poll(() => store.calls.map(({ action }) => action)).toEqual(["take", "refund"]);
          expect(endings).toEqual([{ status: undefined, aborted: true }]);
        }
        expect(passes).toEqual([]);
        // The server is as well as before.
        const next = site.fetch("/");
        await expect.poll(() => store.calls.filter(({ action }) => action === "take").length).toBe(2);
        await clock.advance(1_000);
        if (which === "is refused") expect((await next).status).toBe(429);
        else next.catch(() => {});
      },
    );

    it("while the handler works is given back, if that is wanted", async () => {
      const { limiter } = inMemory();
      const { passes, handle, goOn } = waiting();
      const options = { rules: "day", cost: 4, refundOn: "aborted" } as const;
      const site = await siteOf(framework, { "/": route(limiter, options, handle) });
      const visit = site.fetchAndLeave("/");
      await expect.poll(() => passes.length).toBe(1);
      expect(limiter.peekSync("day", KEY).remaining).toBe(6);
      await visit.leave();
      goOn();
      await expect.poll(() => limiter.peekSync("day", KEY).remaining).toBe(10);
    });

    it("is distinguished from one that stays: only its reservation is released", async () => {
      const { limiter } = inMemory();
      const first = waiting();
      const second = waiting();
      const site = await siteOf(framework, {
        "/first": route(limiter, { rules: { rule: "day", reserve: 4 } }, first.handle),
        "/second": route(limiter, { rules: { rule: "day", reserve: 5 } }, second.handle),
      });
      const visit = site.fetchAndLeave("/first");
      await expect.poll(() => first.passes.length).toBe(1);
      const stays = site.fetch("/second");
      await expect.poll(() => second.passes.length).toBe(1);
      await visit.leave();
      first.goOn();
      second.goOn();
      expect(await (await stays).text()).toBe("too late");
      await expect.poll(() => limiter.peekSync("day", KEY).remaining).toBe(5);
    });
  });
}
