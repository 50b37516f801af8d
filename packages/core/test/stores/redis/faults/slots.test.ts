import fc from "fast-check";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { slotOf } from "../../../../src/stores/redis/cluster-slots.ts";

describe("the slot of a key", () => {
  it.each([
    // The check value of CRC-16/XMODEM.
    ["123456789", 0x31c3],
    ["", 0],
    ["foo", 12182],
    ["{user1000}.following", 3443],
    ["{user1000}.followers", 3443],
    ["foo{}{bar}", 8363],
    ["foo{{bar}}zap", 4015],
    ["foo{bar}{zap}", 5061],
  ])("%j: %i", (key, slot) => {
    expect(slotOf(key)).toBe(slot % 16384);
  });

  describe("as Redis computes it", () => {
    let server: RedisServer;
    let client: Redis;
    beforeAll(async () => {
      server = await startRedis({ config: { "cluster-enabled": "yes" } });
      client = new Redis(server.url);
    });
    afterAll(async () => {
      client?.disconnect();
      await server?.stop();
    });

    const key = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.string({ unit: fc.constantFrom("{", "}", "a", "é", "\u0000", "😀"), maxLength: 12 }),
      fc.string({ minLength: 200, maxLength: 400 }),
    );

    it("is the same for any key", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(key, { minLength: 20, maxLength: 20 }), async (keys) => {
          const told = await Promise.all(keys.map((each) => client.cluster("KEYSLOT", each)));
          expect(keys.map(slotOf)).toEqual(told);
        }),
        { numRuns: 50 },
      );
    });
  });
});
