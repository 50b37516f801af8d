import fc from "fast-check";
import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { type TestRequest, testAdapter } from "../../../test/middleware/request.ts";
import { gateOf } from "../../../test/middleware/test-middleware.ts";
import { type Notice, Notices } from "../notices.ts";
import { type AddressOptions, ClientAddress, clientAddressOf } from "./client-address.ts";

function finder(options: AddressOptions = {}): { of(request: TestRequest): string | undefined; notices: Notice[] } {
  const notices: Notice[] = [];
  const address = new ClientAddress(testAdapter, options, new Notices((notice) => notices.push(notice)));
  return { of: (request) => address.of(request), notices };
}

/** The client, if the peer 10.0.0.1 says so much in X-Forwarded-For. */
function forwarded(header: string, options: AddressOptions, name = "x-forwarded-for"): string | undefined {
  return finder(options).of({ peer: "10.0.0.1", headers: { [name]: header } });
}

describe("without trusted proxies", () => {
  it("the peer is the client, whatever headers say", () => {
    const { of } = finder({ proxies: 0 });
    const headers = { "x-forwarded-for": "9.9.9.9", forwarded: "for=9.9.9.9" };
    expect(of({ peer: "::ffff:1.2.3.4", headers })).toBe("1.2.3.4");
    expect(of({ peer: "2001:db8::1", headers })).toBe("2001:db8:0:0::/64");
    expect(of({ peer: "2001:db8::1:2", headers })).toBe("2001:db8:0:0::/64");
    expect(of({ peer: "5.6.7.8", headers })).toBe("5.6.7.8");
  });

  it("a peer without an address yields no client", () => {
    const { of } = finder({ proxies: 0 });
    expect(of({ headers: { "x-forwarded-for": "9.9.9.9" } })).toBeUndefined();
    expect(of({ peer: "not an address" })).toBeUndefined();
  });

  it("uses the configured number of bits of an IPv6 address", () => {
    expect(finder({ proxies: 0, ipv6Prefix: 56 }).of({ peer: "2001:db8:0:12ff::1" })).toBe("2001:db8:0:1200::/56");
  });
});

describe("a peer that is given as more than an address", () => {
  it.each([
    ["1.2.3.4:5678", "1.2.3.4"],
    ["[2001:db8::1]:99", "2001:db8:0:0::/64"],
    ["[2001:db8::1]", "2001:db8:0:0::/64"],
    ["[::ffff:1.2.3.4]:80", "1.2.3.4"],
  ])("is read as a hop is: %s", (peer, client) => {
    expect(finder().of({ peer })).toBe(client);
    expect(finder({ proxies: 0 }).of({ peer })).toBe(client);
  });

  it("is known as a proxy by its address", () => {
    const asked: unknown[] = [];
    const proxies = (...hop: unknown[]): boolean => asked.push(hop) === 1;
    const request = { peer: "[2001:db8::1]:99", headers: { "x-forwarded-for": "1.2.3.4" } };
    expect(finder({ proxies: ["2001:db8::1"] }).of(request)).toBe("1.2.3.4");
    expect(finder({ proxies }).of(request)).toBe("1.2.3.4");
    expect(asked[0]).toEqual(["2001:db8::1", 0]);
  });
});

describe("X-Forwarded-For", () => {
  it.each([
    ["9.9.9.9, 1.2.3.4", 1, "1.2.3.4"],
    ["9.9.9.9, 1.2.3.4", 2, "9.9.9.9"],
    ["9.9.9.9, 1.2.3.4, 5.6.7.8", 2, "1.2.3.4"],
    ["1.2.3.4", 3, "1.2.3.4"],
    ["", 1, "10.0.0.1"],
    [" , ,1.2.3.4 , ", 1, "1.2.3.4"],
    ["1.2.3.4:5678", 1, "1.2.3.4"],
    ["[2001:db8::1]:4711", 1, "2001:db8:0:0::/64"],
    ["[2001:db8::1]", 1, "2001:db8:0:0::/64"],
    ["2001:db8::1", 1, "2001:db8:0:0::/64"],
    ["::ffff:102:304", 1, "1.2.3.4"],
    ["[::ffff:1.2.3.4]:80", 1, "1.2.3.4"],
    ["fe80::1%eth0", 1, "fe80:0:0:0::/64"],
  ])("of %j behind %d proxies is the client %s", (header, proxies, client) => {
    expect(forwarded(header, { proxies })).toBe(client);
  });

  it("is read from the right to the first address that is not a proxy", () => {
    const proxies = ["10.0.0.0/8", "loopback"];
    expect(forwarded("9.9.9.9, 1.2.3.4, 10.2.3.4, 127.0.0.1", { proxies })).toBe("1.2.3.4");
    expect(forwarded("10.3.3.3, 10.2.2.2", { proxies })).toBe("10.3.3.3");
  });

  it("is not read if the peer is not a proxy: it may be spoofed", () => {
    const { of } = finder({ proxies: ["10.0.0.1"] });
    expect(of({ peer: "203.0.113.7", headers: { "x-forwarded-for": "1.2.3.4" } })).toBe("203.0.113.7");
  });

  it("goes by a function, which hears how far away each is", () => {
    const asked: unknown[] = [];
    const proxies = (address: string | undefined, hop: number): boolean => {
      asked.push([address, hop]);
      return hop < 2;
    };
    expect(forwarded("9.9.9.9, 1.2.3.4, [2001:db8::1]:80", { proxies })).toBe("1.2.3.4");
    expect(asked).toEqual([
      ["10.0.0.1", 0],
      ["2001:db8::1", 1],
      ["1.2.3.4", 2],
    ]);
  });

  it.each([
    "unknown",
    "_hidden",
    "1.2.3.4.5",
    "<script>",
    "[1.2.3.4]",
    "[::1",
    "1.2.3.4:80:90",
    "x".repeat(200),
    "::1]:80",
  ])("with an entry that is not an address (%s) ends there: the proxy that wrote it counts", (entry) => {
    expect(forwarded(`1.2.3.4, ${entry}`, { proxies: 1 })).toBe("10.0.0.1");
    expect(forwarded(`1.2.3.4, ${entry}, 10.0.0.2`, { proxies: 3 })).toBe("10.0.0.2");
    // Entries further left are not read.
    expect(forwarded(`${entry}, 1.2.3.4`, { proxies: 1 })).toBe("1.2.3.4");
  });

  it("serves a proxy on a Unix socket", () => {
    const headers = { "x-forwarded-for": "1.2.3.4" };
    expect(finder({ proxies: 1 }).of({ headers })).toBe("1.2.3.4");
    expect(finder({ proxies: ["unix"] }).of({ headers })).toBe("1.2.3.4");
    expect(finder({ proxies: ["loopback"] }).of({ headers })).toBeUndefined();
  });

  it("is never decided by what a client wrote, whatever that is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (written) => {
        expect(forwarded(`${written}, 1.2.3.4`, { proxies: 1 })).toBe("1.2.3.4");
        expect(forwarded(`${written}, 1.2.3.4, 10.0.0.9`, { proxies: ["10.0.0.0/8"] })).toBe("1.2.3.4");
      }),
    );
  });
});

describe("Forwarded", () => {
  const options = { proxies: 1, forwardedHeader: "forwarded" } as const;

  it.each([
    ["for=192.0.2.43", "192.0.2.43"],
    ['for=9.9.9.9, For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe:0::/64"],
    ["for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"],
    ["proto=http;by=203.0.113.43;FOR=192.0.2.60", "192.0.2.60"],
    ['by="a;b,c";for="192.0.2.60:80"', "192.0.2.60"],
    ["for=192.0.2.60;host=x ;proto=https", "192.0.2.60"],
    ['for=192.0.2.60;host="a, for=9.9.9.9;b"', "192.0.2.60"],
    ["for=1.2.3.4, for=unknown", "10.0.0.1"],
    ["for=1.2.3.4, for=_SEVKISEK", "10.0.0.1"],
    ["for=1.2.3.4, proto=http", "10.0.0.1"],
    ["", "10.0.0.1"],
  ])("of %j is the client %s", (header, client) => {
    expect(forwarded(header, options, "forwarded")).toBe(client);
  });

  it("is never decided by what a client wrote, such as a quote that is not closed", () => {
    const tricks = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom('for="', 'for=9.9.9.9;x="', 'for="9.9.9.9', '"', '\\"', 'for=9.9.9.9;by="\\"', ","),
    );
    fc.assert(
      fc.property(tricks, (written) => {
        expect(forwarded(`${written}, for=1.2.3.4;proto=http`, options, "forwarded")).toBe("1.2.3.4");
        expect(forwarded(`${written}, for="[2001:db8::1]:80"`, options, "forwarded")).toBe("2001:db8:0:0::/64");
      }),
    );
  });
});

describe("both headers", () => {
  const headers = { "x-forwarded-for": "1.2.3.4", forwarded: "for=5.6.7.8" };

  it("are not mixed: only the one counts that the proxies write", () => {
    const request = { peer: "10.0.0.1", headers };
    expect(finder({ proxies: 1 }).of(request)).toBe("1.2.3.4");
    expect(finder({ proxies: 1, forwardedHeader: "forwarded" }).of(request)).toBe("5.6.7.8");
    expect(finder({ proxies: 1 }).of({ peer: "10.0.0.1", headers: { forwarded: "for=5.6.7.8" } })).toBe("10.0.0.1");
  });
});

describe("a long header", () => {
  it("is read in time in proportion to its length: else this would not end", () => {
    const many = `${"10.0.0.2,".repeat(300_000)}10.0.0.3`;
    expect(forwarded(many, { proxies: ["10.0.0.0/8"] })).toBe("10.0.0.2");
    expect(forwarded(`${'"\\'.repeat(500_000)}`, { proxies: 1, forwardedHeader: "forwarded" }, "forwarded")).toBe(
      "10.0.0.1",
    );
    expect(forwarded("1".repeat(1_000_000), { proxies: 1 })).toBe("10.0.0.1");
    expect(forwarded(`for=${" ;".repeat(500_000)}`, { proxies: 1, forwardedHeader: "forwarded" }, "forwarded")).toBe(
      "10.0.0.1",
    );
  });
});

describe("a proxy that is not configured", () => {
  it.each(["x-forwarded-for", "forwarded"])("is noticed by its %s, once, with what to do", (name) => {
    const { of, notices } = finder();
    for (let i = 0; i < 3; i += 1) of({ peer: "10.0.0.1", headers: { [name]: "1.2.3.4" } });
    expect(notices).toHaveLength(1);
    expect(notices[0].code).toBe("HG_PROXY_NOT_TRUSTED");
    expect(notices[0].message).toContain(`a request from 10.0.0.1 has the header ${name}`);
    expect(notices[0].message).toContain("docs/guide/proxies.md#warnings");
  });

  it("is noticed later on, too", () => {
    const { of, notices } = finder();
    for (let i = 0; i < 5_000; i += 1) of({ peer: "10.0.0.1" });
    for (let i = 0; i < 64; i += 1) of({ peer: "10.0.0.1", headers: { "x-forwarded-for": "1.2.3.4" } });
    expect(notices).toHaveLength(1);
  });

  it.each([
    ["x-forwarded-for", "10.0.0.1"],
    ["x-forwarded-for", "::ffff:10.0.0.1, 10.0.0.1:80"],
    ["x-forwarded-for", ""],
    ["forwarded", 'for="10.0.0.1:80";proto=http'],
  ])("causes no notice if its %s names only itself: %j", (name, header) => {
    const { of, notices } = finder();
    of({ peer: "10.0.0.1", headers: { [name]: header } });
    expect(notices).toEqual([]);
    of({ peer: "10.0.0.1", headers: { "x-forwarded-for": "1.2.3.4, 10.0.0.1" } });
    expect(notices).toHaveLength(1);
  });

  it("is noticed if the framework trusts proxies but still takes the peer for the client", () => {
    const notices: Notice[] = [];
    const told = { ...testAdapter, connection: () => "::ffff:10.0.0.1" };
    const address = new ClientAddress(told, {}, new Notices((notice) => notices.push(notice)));
    const headers = { "x-forwarded-for": "1.2.3.4" };
    expect(address.of({ peer: "1.2.3.4", headers })).toBe("1.2.3.4");
    expect(address.of({ peer: "5.6.7.8", headers })).toBe("5.6.7.8");
    expect(notices).toEqual([]);
    expect(address.of({ peer: "10.0.0.1", headers })).toBe("10.0.0.1");
    expect(notices.map(({ code }) => code)).toEqual(["HG_PROXY_NOT_TRUSTED"]);
  });

  it("causes no notice if the option is set or there is no proxy", () => {
    const headers = { "x-forwarded-for": "1.2.3.4" };
    for (const proxies of [0, ["loopback"], () => false]) {
      const { of, notices } = finder({ proxies });
      of({ peer: "10.0.0.1", headers });
      expect(notices).toEqual([]);
    }
    const { of, notices } = finder();
    of({ peer: "10.0.0.1", headers: { host: "example.org" } });
    expect(notices).toEqual([]);
  });
});

describe("the options of the address", () => {
  it.each([
    [{ ipv6Prefix: 0 }, "ipv6Prefix"],
    [{ ipv6Prefix: 129 }, "ipv6Prefix"],
    [{ ipv6Prefix: "64" }, "ipv6Prefix"],
    [{ forwardedHeader: "x-real-ip" }, "forwardedHeader"],
  ])("refuse %j", (options, field) => {
    const given = options as AddressOptions;
    const addressOf = clientAddressOf(() => testAdapter);
    expect(refusal(() => addressOf({ peer: "1.2.3.4" }, given))).toMatchObject({ code: "HG_BAD_OPTION", field });
    expect(refusal(() => gateOf({ rules: "api", ...given }))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });
});
