import { describe, expect, it } from "vitest";
import type { AddressOptions } from "../../../../src/middleware/address/client-address.ts";
import type { By } from "../../../../src/middleware/identity.ts";
import type { MiddlewareOptions } from "../../../../src/middleware/middleware-options.ts";
import type { Framework, Name } from "../framework.ts";
import { closesSites, hearing, inMemory, KEY, route, siteOf } from "./site.ts";

export function identitySuite<Request>(framework: Framework<Request>): void {
  /** The keys of which each was charged for one request, among some. */
  async function charged(
    options: Partial<MiddlewareOptions<Name, Request>>,
    headers: Record<string, string>,
    keys: readonly string[],
    host?: string,
  ): Promise<string[]> {
    const { limiter } = inMemory();
    const site = await siteOf(framework, { "/": route(limiter, { rules: "day", proxies: 0, ...options }) }, host);
    expect((await site.fetch("/", { headers })).status).toBe(200);
    return keys.filter((key) => limiter.peekSync("day", key).remaining === 9);
  }

  describe(`${framework.name}: a request is counted`, () => {
    closesSites();

    it.each([
      ["127.0.0.1", KEY],
      ["::ffff:127.0.0.1", KEY],
      ["::1", "ip:0:0:0:0::/64"],
    ])("by the address of the connection to %s, as %s", async (host, key) => {
      expect(await charged({}, {}, [key], host)).toEqual([key]);
    });

    it.each<[string, By<Request>, string]>([
      ["a header", { header: "X-Api-Key" }, "header:k1"],
      ["a function", (request) => framework.header(request, "x-tenant"), "id:t1"],
      ["a function with a promise", async (request) => framework.header(request, "x-tenant"), "id:t1"],
    ])("by %s, or else by address", async (_name, by, key) => {
      const keys = [key, KEY];
      expect(await charged({ by }, { "x-api-key": "k1", "x-tenant": "t1" }, keys)).toEqual([key]);
      expect(await charged({ by }, {}, keys)).toEqual([KEY]);
    });

    it("by several of these together", async () => {
      const key = `["${KEY}","id:t1"]`;
      const by: By<Request> = ["ip", (request) => framework.header(request, "x-tenant")];
      expect(await charged({ by }, { "x-tenant": "t1" }, [key, KEY, "id:t1"])).toEqual([key]);
    });

    if (framework.hasUsers) {
      it("by user, or else by address", async () => {
        const keys = ["user:u7", KEY];
        expect(await charged({ by: "user" }, { "x-user": "u7" }, keys)).toEqual(["user:u7"]);
        expect(await charged({ by: "user" }, {}, keys)).toEqual([KEY]);
      });
    } else {
      it("by user only with a function, because there is no place for users", async () => {
        const { limiter } = inMemory();
        const started = siteOf(framework, { "/": route(limiter, { rules: "day", by: "user" }) });
        await expect(started).rejects.toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field: "by" }));
      });
    }
  });

  describe(`${framework.name}: clientAddress`, () => {
    const headers = { "x-forwarded-for": "2001:db8:1:2::3", forwarded: "for=203.0.113.7" };
    closesSites();

    it.each<[string, AddressOptions | undefined, string, string?]>([
      ["is the address of the connection", undefined, "127.0.0.1"],
      ["is an IPv4 address in one spelling", { proxies: 0 }, "127.0.0.1", "::ffff:127.0.0.1"],
      ["is the network of an IPv6 address", { proxies: 0 }, "0:0:0:0::/64", "::1"],
      ["is what a trusted proxy says", { proxies: 1 }, "2001:db8:1:2::/64"],
      ["is not what others say", { proxies: ["192.0.2.1"] }, "127.0.0.1"],
      ["has the prefix that was asked for", { proxies: 1, ipv6Prefix: 48 }, "2001:db8:1::/48"],
      ["comes from the header that was asked for", { proxies: 1, forwardedHeader: "forwarded" }, "203.0.113.7"],
    ])("%s", async (_what, options, address, host) => {
      const by = (request: Request) => framework.clientAddress(request, options);
      expect(await charged({ by }, headers, [`id:${address}`], host)).toEqual([`id:${address}`]);
    });

    it("refuses options that it does not know", async () => {
      const { limiter } = inMemory();
      const seen: unknown[] = [];
      const by = (request: Request): undefined => {
        try {
          framework.clientAddress(request, { proxy: 1 } as AddressOptions);
        } catch (error) {
          seen.push(error);
        }
      };
      const site = await siteOf(framework, { "/": route(limiter, { rules: "day", by }) });
      await site.fetch("/");
      expect(seen).toEqual([expect.objectContaining({ code: "HG_BAD_OPTION", field: "options.proxy" })]);
    });
  });

  describe(`${framework.name}: a forwarded address`, () => {
    const headers = { "x-forwarded-for": "6.6.6.6, 203.0.113.7", forwarded: 'for="[2001:db8:1:2::3]"' };
    const keys = [KEY, "ip:6.6.6.6", "ip:203.0.113.7", "ip:2001:db8:1:2::/64"];
    closesSites();

    it("is not trusted, which is reported once", async () => {
      const { limiter } = inMemory();
      const { notices, onNotice } = hearing();
      const site = await siteOf(framework, { "/": route(limiter, { rules: "day", onNotice }) });
      await site.fetch("/", { headers });
      await site.fetch("/", { headers });
      expect(limiter.peekSync("day", KEY).remaining).toBe(8);
      expect(notices.map(({ code }) => code)).toEqual(["HG_PROXY_NOT_TRUSTED"]);
    });

    it("is believed of a trusted proxy, and no further than that", async () => {
      expect(await charged({ proxies: 1 }, headers, keys)).toEqual(["ip:203.0.113.7"]);
      expect(await charged({ proxies: ["loopback"] }, headers, keys)).toEqual(["ip:203.0.113.7"]);
      expect(await charged({ proxies: ["192.0.2.1"] }, headers, keys)).toEqual([KEY]);
    });

    it("is read from the header that the proxies write, IPv6 by prefix", async () => {
      const options = { proxies: 1, forwardedHeader: "forwarded" } as const;
      expect(await charged(options, headers, keys)).toEqual(["ip:2001:db8:1:2::/64"]);
    });
  });
}
