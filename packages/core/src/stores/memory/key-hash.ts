/**
 * HalfSipHash-2-4 with 64 bits of output (Aumasson and Bernstein), over the characters of a key. The memory store keeps
 * the hash instead of the key, so colliding keys would share a quota. Secrets, random for each store, prevent attackers
 * from constructing such keys.
 */
export class KeyHash {
  /** The hash of the last key. `high` is never 0 or 1, which tables use as markers. */
  high = 0;
  low = 0;

  private secrets: HashSecrets | undefined;

  constructor(secrets?: Int32Array) {
    if (secrets !== undefined) this.secrets = split(secrets);
  }

  /** Hashes a key, or the key that a longer text has between two places. */
  update(text: string, start = 0, end = text.length): void {
    const { narrow, wide } = this.secrets ?? this.draw();
    const characters = this.hash(text, start, end, narrow);
    if (characters <= 0xff) return;
    const bytes = bytesOf(text.slice(start, end));
    this.hash(bytes, 0, bytes.length, wide);
  }

  /**
   * Called on first use: Cloudflare Workers do not allow random values while a module loads, when limiters are created.
   */
  private draw(): HashSecrets {
    const secrets = split(crypto.getRandomValues(new Int32Array(4)));
    this.secrets = secrets;
    return secrets;
  }

  /** Hashes one byte per character. Returns all characters OR-ed together, to tell whether they were bytes. */
  private hash(text: string, start: number, end: number, { k0, k1 }: HashSecret): number {
    const length = end - start;
    const words = length >>> 2;
    let characters = 0;
    let high = 0;
    let v0 = k0;
    let v1 = k1 ^ 0xee;
    let v2 = 0x6c796765 ^ k0;
    let v3 = 0x74656462 ^ k1;
    // Two rounds per word and for the closing one, then four rounds twice to finish.
    for (let w = 0; w < words + 5; w += 1) {
      let word = 0;
      if (w < words) {
        const at = start + 4 * w;
        const a = text.charCodeAt(at);
        const b = text.charCodeAt(at + 1);
        const c = text.charCodeAt(at + 2);
        const d = text.charCodeAt(at + 3);
        characters |= a | b | c | d;
        word = a | (b << 8) | (c << 16) | (d << 24);
      } else if (w === words) {
        word = length << 24;
        for (let i = start + 4 * words, shift = 0; i < end; i += 1, shift += 8) {
          const character = text.charCodeAt(i);
          characters |= character;
          word |= character << shift;
        }
      } else if (w === words + 1) {
        v2 ^= 0xee;
      } else if (w === words + 3) {
        high = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v3 ^= word;
      for (let round = 0; round < 2; round += 1) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      v0 ^= word;
    }
    this.high = high >>> 1 === 0 ? high | 2 : high;
    this.low = v1 ^ v3;
    return characters;
  }
}

interface HashSecret {
  readonly k0: number;
  readonly k1: number;
}

/** One for keys whose characters are bytes, one for all others. */
interface HashSecrets {
  readonly narrow: HashSecret;
  readonly wide: HashSecret;
}

function split(secrets: Int32Array): HashSecrets {
  return { narrow: { k0: secrets[0], k1: secrets[1] }, wide: { k0: secrets[2], k1: secrets[3] } };
}

/**
 * Encodes a key with characters above 255 as two bytes each. It is hashed with its own secret, so it cannot collide.
 */
function bytesOf(key: string): string {
  let bytes = "";
  for (let i = 0; i < key.length; i += 1) {
    const unit = key.charCodeAt(i);
    bytes += String.fromCharCode(unit & 0xff, unit >>> 8);
  }
  return bytes;
}
