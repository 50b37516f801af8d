import { describe, expect, it } from "vitest";
import { StoreError } from "../../../../src/index.ts";
import type { Framework } from "../framework.ts";
import { closesSites, farAway, hearing, PROBLEM, rateLimitHeaders, route, siteOf } from "./site.ts";

const gone = new StoreError("HG_STORE_UNREACHABLE", "refused the connection");

export function storeFailureSuite<Request>(framework: Framework<Request>): void {
  describe(`${framework.name}: a store that fails`, () => {
    closesSites();

    it("admits requests without headers, which is reported once", async () => {
      const { limiter, store } = farAway();
      store.failure = gone;
      const { notices, onNotice } = hearing();
      const site = await siteOf(framework, { "/": route(limiter, { rules: "api", onNotice, refundOn: "5xx" }) });
      for (let i = 0; i < 3; i += 1) {
        const response = await site.fetch("/");
        expect([response.status, await response.text()]).toEqual([200, "ok"]);
        expect(rateLimitHeaders(response)).toEqual({});
      }
      expect(notices).toMatchObject([{ code: "HG_STORE_IGNORED", cause: gone }]);
    });

    it("makes a 503 of them where that is wanted, never a 500", async () => {
      const { limiter, store } = farAway();
      store.failure = gone;
      const site = await siteOf(framework, { "/": route(limiter, { rules: "api", onStoreFailure: "deny" }) });
      const response = await site.fetch("/");
      expect(response.status).toBe(503);
      expect(response.headers.get("content-type")).toMatch(PROBLEM);
      expect(await response.json()).toMatchObject({
        type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      });
    });
  });
}
