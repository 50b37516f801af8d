/** Every key has this many characters, like `user:000000000012345`. */
export const KEY_LENGTH = 20;
const PREFIX = "user:";
const ZERO = "0".charCodeAt(0);
/** Neighbouring keys differ in several digits, like ids that were not assigned in a row. */
const STEP = 7919;

/**
 * Key strings as they are read from a socket: flat, one byte per character, and a new object each time. A string built
 * in JavaScript would be a tree of parts until it is flattened.
 */
export class KeyStrings {
  private readonly bytes: Buffer;

  constructor(keys: number) {
    this.bytes = Buffer.alloc(keys * KEY_LENGTH, PREFIX.padEnd(KEY_LENGTH, "0"), "latin1");
    for (let i = 0; i < keys; i += 1) this.spell(i);
  }

  make(key: number): string {
    const start = key * KEY_LENGTH;
    return this.bytes.toString("latin1", start, start + KEY_LENGTH);
  }

  /** Digit by digit, because a million temporary strings would take longer than the rest of a quick run. */
  private spell(key: number): void {
    let at = (key + 1) * KEY_LENGTH;
    for (let left = key * STEP; left > 0; left = Math.floor(left / 10)) {
      at -= 1;
      this.bytes[at] = ZERO + (left % 10);
    }
  }
}
