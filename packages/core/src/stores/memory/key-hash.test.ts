import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { KeyHash } from "./key-hash.ts";

// The secret of the official test vectors: the bytes 0 to 7.
const K0 = 0x03020100;
const K1 = 0x07060504;
const OTHER = [0x01234567, 0x76543210] as const;

/** The HalfSipHash-2-4 vectors with 64 bits of output, for the bytes 0, 1, 2… up to a length: its two halves. */
const vectors: readonly (readonly [length: number, first: number, second: number])[] = [
  [0, 0x591f8d21, 0xc83cb8b9],
  [1, 0x122455be, 0x157338f8],
  [2, 0xef394f06, 0x57eb507c],
  [3, 0x451a0fce, 0x790606f7],
  [4, 0x178ae7d5, 0xa12ee55b],
  [5, 0x3f7c9dcb, 0x80b53d2f],
  [6, 0x35913ece, 0x25bca28a],
  [7, 0x282720ff, 0x84c67bb0],
  [8, 0x20e8feed, 0x8c85e4bc],
  [11, 0x393326ae, 0x48cddd94],
  [16, 0xd2aa3673, 0xb5f37b5f],
  [31, 0x157f3c86, 0x7c11345c],
  [32, 0x469d7028, 0x6c6211d8],
  [62, 0xb53a0bf9, 0x9366d472],
  [63, 0x713ca62e, 0x876032bf],
];

describe("the official vectors of HalfSipHash-2-4", () => {
  it.each(vectors)("hold for %i bytes", (length, first, second) => {
    const hash = new KeyHash(Int32Array.of(K0, K1, ...OTHER));
    const key = String.fromCharCode(...bytes(length));
    expect(hashOf(hash, key)).toEqual([first, second]);
  });

  it.each(vectors.filter(([length]) => length % 2 === 0 && length > 0))(
    "hold for %i bytes given as characters of two bytes, under the other secret",
    (length, first, second) => {
      const hash = new KeyHash(Int32Array.of(...OTHER, K0, K1));
      const pairs = Array.from({ length: length / 2 }, (_, i) => 2 * i + 256 * (2 * i + 1));
      expect(hashOf(hash, String.fromCharCode(...pairs))).toEqual([first, second]);
    },
  );
});

describe("the hash of a key", () => {
  // Found by trying two thousand million keys: the only way to have a first half of 0 or 1.
  it.each([
    ["oasaujrx", 2],
    ["esaaikcq", 3],
    ["mmcazhpf", 3],
  ])("is kept out of a table's own marks (%s)", (key, high) => {
    const hash = new KeyHash(Int32Array.of(K0, K1, ...OTHER));
    expect(hashOf(hash, key)[0]).toBe(high);
  });

  it("is the same where the key is part of a longer text", () => {
    const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.string({ maxLength: 40 }));
    fc.assert(
      fc.property(text, text, text, (before, key, after) => {
        const hash = new KeyHash(Int32Array.of(K0, K1, ...OTHER));
        const alone = hashOf(hash, key);
        hash.update(before + key + after, before.length, before.length + key.length);
        expect([hash.high >>> 0, hash.low >>> 0]).toEqual(alone);
      }),
    );
  });

  it("is the same each time, whatever was hashed between", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 40 }), { minLength: 1, maxLength: 20 }), (keys) => {
        const hash = new KeyHash();
        const first = keys.map((key) => hashOf(hash, key));
        const again = keys.map((key) => hashOf(hash, key));
        expect(again.join()).toBe(first.join());
      }),
    );
  });

  it("draws its secret once, and not before the first key: Cloudflare Workers forbid that while a module loads", () => {
    const draw = vi.spyOn(crypto, "getRandomValues");
    onTestFinished(() => draw.mockRestore());
    const hash = new KeyHash();
    expect(draw).not.toHaveBeenCalled();
    hash.update("a");
    hash.update("Ā");
    expect(draw).toHaveBeenCalledOnce();
  });

  it("is another under another secret", () => {
    const keys = ["", "a", "user:1", "é", "Ā", "👍", "x".repeat(1000)];
    const one = new KeyHash();
    const other = new KeyHash();
    for (const key of keys) expect(hashOf(one, key)).not.toEqual(hashOf(other, key));
  });

  it("depends on each half of each secret", () => {
    const secrets = [1, 2, 3, 4];
    const changed = secrets.map((_, at) => secrets.map((secret, i) => (i === at ? secret ^ 0x100 : secret)));
    for (const [key, counts] of [
      ["narrow", [0, 1]],
      ["wide Ā", [2, 3]],
    ] as const) {
      const plain = hashOf(new KeyHash(Int32Array.from(secrets)), key);
      for (const [at, other] of changed.entries()) {
        const differs = `${hashOf(new KeyHash(Int32Array.from(other)), key)}` !== `${plain}`;
        expect(differs).toBe(counts.some((i) => i === at));
      }
    }
  });
});

describe("two keys", () => {
  it("do not meet among 200,000 of the forms that programs use", () => {
    expect(collisions(structuredKeys(50_000))).toEqual([]);
  });

  it("do not meet when one has characters of two bytes and the other those bytes", () => {
    const wide = Array.from({ length: 2_000 }, (_, i) => String.fromCharCode(256 + i, 0x4e00 + i));
    const narrow = wide.map((key) => String.fromCharCode(...Buffer.from(key, "utf16le")));
    expect(collisions([...wide, ...narrow])).toEqual([]);
  });

  it("do not meet when one is the other with zeros added, or in another order", () => {
    const keys = ["", "a", "Ā", "ab", "ba", "\ud800", "\ud801", "\ufffd"];
    const padded = keys.flatMap((key) => [key, `${key}\0`, `${key}\0\0`, `\0${key}`, `${key}\0\0\0\0`]);
    expect(collisions([...new Set(padded)])).toEqual([]);
  });
});

function bytes(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}

function hashOf(hash: KeyHash, key: string): [high: number, low: number] {
  hash.update(key);
  return [hash.high >>> 0, hash.low >>> 0];
}

function structuredKeys(each: number): string[] {
  return Array.from({ length: each }, (_, i) => [
    `user:${i}`,
    `10.${i & 255}.${(i >>> 8) & 255}.1`,
    `用户:${i}`,
    i.toString(36).padStart(24, "0"),
  ]).flat();
}

function collisions(keys: readonly string[]): string[] {
  const hash = new KeyHash();
  const seen = new Set<bigint>();
  return keys.filter((key) => {
    const [high, low] = hashOf(hash, key);
    const id = (BigInt(high) << 32n) | BigInt(low);
    const known = seen.has(id);
    seen.add(id);
    return known;
  });
}
