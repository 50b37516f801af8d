import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { parseAddress } from "./ip-address.ts";
import { requireTrust } from "./trusted-proxies.ts";

function trusts(proxies: unknown, address: string | undefined, hop = 0): boolean {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return requireTrust(proxies)(parsed, address, hop);
}

describe("proxies by their addresses", () => {
  it.each([
    ["10.1.2.3", "10.1.2.3", true],
    ["10.1.2.3", "10.1.2.4", false],
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.1.2.3/8", "10.9.9.9", true],
    ["10.0.0.0/8", "::ffff:10.1.1.1", true],
    ["10.0.0.0/8", "::ffff:a01:101", true],
    ["::ffff:10.0.0.0/104", "10.200.0.1", true],
    ["::ffff:10.0.0.0/104", "11.0.0.1", false],
    ["128.0.0.0/1", "203.0.113.9", true],
    ["128.0.0.0/1", "2001:db8::1", false],
    ["10.0.0.0/8", "64:ff9b::10.0.0.1", false],
    ["64:ff9b::/96", "64:ff9b::10.0.0.1", true],
    ["2001:db8::/32", "2001:db8:ffff::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["2001:db8::/33", "2001:db8:8000::1", false],
    ["192.168.1.128/25", "192.168.1.129", true],
    ["192.168.1.128/25", "192.168.1.127", false],
    ["loopback", "127.9.9.9", true],
    ["loopback", "::1", true],
    ["loopback", "::2", false],
    ["linklocal", "169.254.1.1", true],
    ["linklocal", "fe80::1%eth0", true],
    ["uniquelocal", "172.31.255.255", true],
    ["uniquelocal", "172.32.0.0", false],
    ["uniquelocal", "fd00::1", true],
    ["unix", "10.0.0.1", false],
  ])("%s has %s: %s", (network, address, trusted) => {
    expect(trusts([network], address)).toBe(trusted);
  });

  it("have one without an address only over a Unix socket, if that is named", () => {
    expect(trusts(["unix"], undefined)).toBe(true);
    expect(trusts(["loopback", "128.0.0.0/1"], undefined)).toBe(false);
  });
});

describe("proxies by their number", () => {
  it("are counted as hops from the server", () => {
    expect([0, 1, 2, 3].map((hop) => trusts(2, "203.0.113.9", hop))).toEqual([true, true, false, false]);
    expect(trusts(0, "127.0.0.1", 0)).toBe(false);
    expect(trusts(1, undefined, 0)).toBe(true);
  });
});

describe("proxies by a function", () => {
  it("are those for which it answers true, and nothing else", () => {
    const seen: unknown[] = [];
    const test = (address: unknown, hop: unknown): unknown => {
      seen.push([address, hop]);
      return address === "10.0.0.1" || "yes";
    };
    expect(trusts(test, "10.0.0.1", 3)).toBe(true);
    expect(trusts(test, "10.0.0.2", 4)).toBe(false);
    expect(seen).toEqual([
      ["10.0.0.1", 3],
      ["10.0.0.2", 4],
    ]);
  });
});

describe("the option proxies", () => {
  it.each([
    [["10.0.0.0/33"], "proxies[0]"],
    [["loopback", "10.0.0"], "proxies[1]"],
    [["10.0.0.0/8/8"], "proxies[0]"],
    [["10.0.0.0/"], "proxies[0]"],
    [["::/129"], "proxies[0]"],
    [["::ffff:10.0.0.0/8"], "proxies[0]"],
    [[7], "proxies[0]"],
    [["toString"], "proxies[0]"],
    [-1, "proxies"],
    [1.5, "proxies"],
    [Number.POSITIVE_INFINITY, "proxies"],
    ["loopback", "proxies"],
    [{}, "proxies"],
  ])("refuses %j", (proxies, field) => {
    expect(refusal(() => requireTrust(proxies))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });

  it("rejects trusting every address, and says why", () => {
    expect(refusal(() => requireTrust(true)).message).toMatch(/lets clients choose their own/);
  });

  it.each(["0.0.0.0/0", "10.0.0.0/0", "::/0", "::ffff:0:0/96"])(
    "rejects every address as the network %s, too",
    (network) => {
      const error = refusal(() => requireTrust(["loopback", network]));
      expect(error).toMatchObject({ code: "HG_BAD_OPTION", field: "proxies[1]" });
      expect(error.message).toMatch(/lets clients choose their own/);
    },
  );
});
