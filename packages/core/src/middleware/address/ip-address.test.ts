import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressText, parseAddress } from "./ip-address.ts";

function text(address: string, prefix = 64): string | undefined {
  const parsed = parseAddress(address);
  return parsed && addressText(parsed, prefix);
}

describe("an IPv4 address", () => {
  it.each(["0.0.0.0", "1.2.3.4", "127.0.0.1", "255.255.255.255"])("is itself: %s", (address) => {
    expect(text(address)).toBe(address);
  });

  it.each([
    "::ffff:1.2.3.4",
    "::ffff:102:304",
    "::FFFF:1.2.3.4",
    "0:0:0:0:0:ffff:1.2.3.4",
    "0000:0000:0000:0000:0000:ffff:0102:0304",
    "::0:ffff:102:304",
    "::ffff:1.2.3.4%eth0",
    "64:ff9b::1.2.3.4",
    "64:FF9B::102:304",
    "0064:ff9b:0:0:0:0:0102:0304",
  ])("is meant by %s", (address) => {
    expect(text(address)).toBe("1.2.3.4");
  });

  it.each([
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.4 ",
    "0x1.2.3.4",
    "1.2.3.",
    "1..2.3",
    "",
    "1.2.3.-4",
    "1e1.2.3.4",
  ])("is not %j", (address) => {
    expect(text(address)).toBeUndefined();
  });
});

describe("an IPv6 address", () => {
  it.each([
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["1::1.2.3.4", "1:0:0:0::/64"],
    ["64:ff9b::1:102:304", "64:ff9b:0:0::/64"],
    ["64:ff9b:1::1.2.3.4", "64:ff9b:1:0::/64"],
    ["64:ff9c::1.2.3.4", "64:ff9c:0:0::/64"],
    ["65:ff9b::1.2.3.4", "65:ff9b:0:0::/64"],
    ["::1:ffff:1.2.3.4", "0:0:0:0::/64"],
  ])("%s is in %s", (address, network) => {
    expect(text(address)).toBe(network);
  });

  it("is cut at any prefix", () => {
    const address = "2001:db8:1234:56ff:3:4:5:6";
    expect([32, 48, 56, 60, 64, 127, 128].map((prefix) => text(address, prefix))).toEqual([
      "2001:db8::/32",
      "2001:db8:1234::/48",
      "2001:db8:1234:5600::/56",
      "2001:db8:1234:56f0::/60",
      "2001:db8:1234:56ff::/64",
      "2001:db8:1234:56ff:3:4:5:6/127",
      "2001:db8:1234:56ff:3:4:5:6/128",
    ]);
  });

  it.each([
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "12345::",
    "g::",
    ":1",
    "1:",
    "::1.2.3.4:5",
    "1.2.3.4::",
    "[::1]",
    "::%",
  ])("is not %j, save for a zone", (address) => {
    expect(text(address)).toBe(address === "::%" ? "0:0:0:0::/64" : undefined);
  });

  it("is read as Node reads it, whatever the spelling", () => {
    const spelled = fc.oneof(
      fc.ipV6(),
      fc.ipV4(),
      fc.stringMatching(/^[0-9a-f:.]{0,30}$/),
      fc.ipV4().map((address) => `::ffff:${address}`),
    );
    fc.assert(
      fc.property(spelled, (address) => {
        expect(parseAddress(address) !== undefined).toBe(isIP(address) !== 0);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is the same client in any spelling", () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, fc.integer({ min: 1, max: 128 }), (address, prefix) => {
        const long = address.map((group) => group.toString(16).padStart(4, "0")).join(":");
        // The URL parser writes addresses as RFC 5952 wants them.
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        expect(text(short, prefix)).toBe(text(long.toUpperCase(), prefix));
      }),
    );
  });
});
