import { ipKeyGenerator as theirs } from "express-rate-limit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ipKeyGenerator } from "../../../../src/middleware/express-rate-limit.ts";

const subnet = fc.oneof(fc.integer({ min: 1, max: 128 }), fc.constant<false>(false), fc.constant(undefined));

describe("the key of an address", () => {
  it.each([
    ["1.2.3.4", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::ffff:102:304", "1.2.3.4"],
    ["::1.2.3.4", "1.2.3.4"],
    ["0:0::0.0.0.1", "0.0.0.1"],
    ["2001:db8:1:2ff::1", "2001:db8:1:200::/56"],
    ["2001:db8::1", "2001:db8::/56"],
    ["fe80::1%eth0", "fe80::/56"],
    ["no address", "no address"],
  ])("of %s is %s", (ip, key) => {
    expect(ipKeyGenerator(ip)).toBe(key);
  });

  it.each(["64:ff9b::1.2.3.4", "[2001:db8::1]:99", "1.2.3.4:80", "", undefined, null])("of %j is theirs", (ip) => {
    expect(ipKeyGenerator(ip as string)).toBe(theirs(ip as string));
  });

  it("is that of express-rate-limit, whatever the address and the network", () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((ip) => `::${ip}`),
    );
    fc.assert(
      fc.property(address, subnet, (ip, bits) => {
        expect(ipKeyGenerator(ip, bits)).toBe(theirs(ip, bits));
      }),
      { numRuns: 2_000 },
    );
  });
});
