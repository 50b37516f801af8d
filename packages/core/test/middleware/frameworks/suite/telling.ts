import { describe, expect, it } from "vitest";
import type { RulesOrOptions } from "../../../../src/middleware/middleware-options.ts";
import type { Framework, Name } from "../framework.ts";
import { closesSites, farAway, inMemory, KEY, PROBLEM, rateLimitHeaders, route, siteOf } from "./site.ts";

export function tellingSuite<Request>(framework: Framework<Request>): void {
  describe(`${framework.name}: the response`, () => {
    closesSites();

    it("reports the limit in addition to what the handler sends", async () => {
      const { limiter } = inMemory();
      const handle = () => ({ status: 201, body: "made" });
      const site = await siteOf(framework, { "/": route(limiter, { rules: "api", proxies: 0 }, handle) });
      const response = await site.fetch("/");
      expect([response.status, await response.text()]).toEqual([201, "made"]);
      expect(rateLimitHeaders(response)).toEqual({
        "ratelimit-policy": '"api";q=2;w=60',
        ratelimit: '"api";r=1;t=60',
      });
    });

    it("is a 429 with a problem for clients over the limit, without calling the handler", async () => {
      const { limiter, clock } = inMemory();
      let handled = 0;
      const handle = () => {
        handled += 1;
        return { status: 200, body: "ok" };
      };
      const site = await siteOf(framework, { "/": route(limiter, "api", handle) });
      await site.fetch("/");
      await site.fetch("/");
      const response = await site.fetch("/");
      expect(response.status).toBe(429);
      expect(response.headers.get("content-type")).toMatch(PROBLEM);
      expect(rateLimitHeaders(response)).toEqual({
        "ratelimit-policy": '"api";q=2;w=60',
        ratelimit: '"api";r=0;t=60',
        "retry-after": "60",
        "headgate-state": 'throttled;policy="api"',
      });
      expect(await response.json()).toEqual({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota exceeded",
        status: 429,
        "violated-policies": ["api"],
      });
      expect(handled).toBe(2);
      await clock.advance(60_000);
      expect((await site.fetch("/")).status).toBe(200);
    });

    it("is the same over a store that returns promises", async () => {
      const { limiter } = farAway();
      const site = await siteOf(framework, { "/": route(limiter, "api") });
      const answers = [await site.fetch("/"), await site.fetch("/"), await site.fetch("/")];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers.map(({ headers }) => headers.get("ratelimit"))).toEqual([
        '"api";r=1;t=60',
        '"api";r=0;t=60',
        '"api";r=0;t=60',
      ]);
    });

    it("can have headers in other forms", async () => {
      const { limiter } = inMemory();
      const asked: RulesOrOptions<Name, Request> = { rules: "api", headers: ["draft-7", "legacy-seconds"] };
      const site = await siteOf(framework, { "/": route(limiter, asked) });
      expect(rateLimitHeaders(await site.fetch("/"))).toEqual({
        "ratelimit-policy": "2;w=60",
        ratelimit: "limit=2, remaining=1, reset=60",
        "x-ratelimit-limit": "2",
        "x-ratelimit-remaining": "1",
        "x-ratelimit-reset": "60",
      });
    });

    it("comes also with what a handler failed at, but not with what is skipped", async () => {
      const { limiter } = inMemory();
      const skip = (request: Request) => framework.header(request, "x-skip") === "1";
      const handle = () => ({ status: 503, body: "sorry" });
      const site = await siteOf(framework, { "/": route(limiter, { rules: "api", skip }, handle) });
      expect((await site.fetch("/")).headers.get("ratelimit")).toBe('"api";r=1;t=60');
      expect(rateLimitHeaders(await site.fetch("/", { headers: { "x-skip": "1" } }))).toEqual({});
      expect(limiter.peekSync("api", KEY).remaining).toBe(1);
    });

    it("is the program's own answer where it has one, with our headers", async () => {
      const { limiter } = inMemory();
      const onDenied = ({ deniedBy }: { deniedBy: readonly string[] }) => ({
        status: 418,
        body: `too many for ${deniedBy.join()}`,
      });
      const handle = () => ({ status: 200, body: "ok" });
      const gates = [{ limiter, asked: { rules: "day", cost: 6 } as const, onDenied }];
      const site = await siteOf(framework, { "/": { gates, handle } });
      expect((await site.fetch("/")).status).toBe(200);
      const response = await site.fetch("/");
      expect([response.status, await response.text()]).toEqual([418, "too many for day"]);
      expect(response.headers.get("retry-after")).toBe("17280");
      expect(response.headers.get("content-type")).not.toMatch(PROBLEM);
    });
  });

  describe(`${framework.name}: several limits`, () => {
    closesSites();

    it("are charged together or not at all", async () => {
      const { limiter } = inMemory();
      const cost = (request: Request) => Number(framework.header(request, "x-cost"));
      const asked: RulesOrOptions<Name, Request> = { rules: ["api", { rule: "day", cost }] };
      const site = await siteOf(framework, { "/": route(limiter, asked) });
      const fetch = (cost: number) => site.fetch("/", { headers: { "x-cost": String(cost) } });
      expect(rateLimitHeaders(await fetch(4))).toMatchObject({
        "ratelimit-policy": '"api";q=2;w=60, "day";q=10;w=86400',
        ratelimit: '"api";r=1;t=60, "day";r=6;t=34560',
      });
      expect(await (await fetch(7)).json()).toMatchObject({ "violated-policies": ["day"] });
      expect(limiter.peekSync("api", KEY).remaining).toBe(1);
    });

    it("need only their names", async () => {
      const { limiter } = inMemory();
      const site = await siteOf(framework, { "/": route(limiter, ["api", "day"]) });
      expect((await site.fetch("/")).headers.get("ratelimit")).toBe('"api";r=1;t=60, "day";r=9;t=8640');
    });

    it("can be those of each route", async () => {
      const { limiter } = inMemory();
      const site = await siteOf(framework, { "/login": route(limiter, "api"), "/items": route(limiter, "day") });
      for (const status of [200, 200, 429]) expect((await site.fetch("/login")).status).toBe(status);
      const response = await site.fetch("/items");
      expect([response.status, response.headers.get("ratelimit")]).toEqual([200, '"day";r=9;t=8640']);
    });

    it("may be in consecutive gates, whose lists are merged", async () => {
      const { limiter } = inMemory();
      const gates = [
        { limiter, asked: { rules: "day", headers: ["draft", "legacy-seconds"] } as const },
        { limiter, asked: { rules: "api", headers: ["draft", "legacy-seconds"] } as const },
      ];
      const site = await siteOf(framework, { "/": { gates, handle: () => ({ status: 200, body: "ok" }) } });
      const passed = await site.fetch("/");
      expect(itemsOf(passed, "ratelimit-policy")).toEqual(['"api";q=2;w=60', '"day";q=10;w=86400']);
      expect(itemsOf(passed, "ratelimit")).toEqual(['"api";r=1;t=60', '"day";r=9;t=8640']);
      // A header that is not a list can describe only one limit: the last.
      expect(passed.headers.get("x-ratelimit-limit")).toBe("2");
      await site.fetch("/");
      const refused = await site.fetch("/");
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
      expect(itemsOf(refused, "ratelimit")).toEqual(['"api";r=0;t=60', '"day";r=7;t=25920']);
      expect(limiter.peekSync("day", KEY).remaining).toBe(7);
    });
  });
}

/** The items of a list, whose order means nothing. */
function itemsOf({ headers }: Response, name: string): string[] | undefined {
  return headers.get(name)?.split(", ").sort();
}
