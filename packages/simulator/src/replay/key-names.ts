const PAGE_BYTES = 1 << 20;
/** No encoded name has this byte. */
const END = 0xff;

/**
 * The names of keys as bytes, in pages that never move. Characters are encoded as in UTF-8, but each half of a surrogate
 * pair by itself, so that every string can be kept.
 */
export class KeyNames {
  readonly #pages: Uint8Array<ArrayBuffer>[] = [];
  /** Where the next name begins in the last page. */
  #next = PAGE_BYTES;
  /** The name that was read last, with its end. */
  #bytes = new Uint8Array(256);
  #length = 0;

  /** Encodes a name, to compare or to keep it. Returns a hash of 32 bits. */
  read(name: string, seed: number): number {
    // A character takes at most three bytes.
    if (3 * name.length + 1 > this.#bytes.length) this.#bytes = new Uint8Array(6 * name.length);
    const bytes = this.#bytes;
    let hash = seed;
    let length = 0;
    for (let i = 0; i < name.length; i += 1) {
      const unit = name.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x5bd1e995);
      hash ^= hash >>> 15;
      if (unit < 0x80) {
        bytes[length] = unit;
        length += 1;
        continue;
      }
      if (unit < 0x800) {
        bytes[length] = 0xc0 | (unit >>> 6);
        length += 1;
      } else {
        bytes[length] = 0xe0 | (unit >>> 12);
        bytes[length + 1] = 0x80 | ((unit >>> 6) & 0x3f);
        length += 2;
      }
      bytes[length] = 0x80 | (unit & 0x3f);
      length += 1;
    }
    bytes[length] = END;
    this.#length = length + 1;
    hash = Math.imul(hash ^ (hash >>> 13), 0x5bd1e995);
    return hash ^ (hash >>> 15);
  }

  /** Whether the name at a position is the one that was read last. */
  isRead(position: number): boolean {
    const page = this.#pages[Math.floor(position / PAGE_BYTES)];
    const start = position % PAGE_BYTES;
    const bytes = this.#bytes;
    for (let i = 0; i < this.#length; i += 1) if (page[start + i] !== bytes[i]) return false;
    return true;
  }

  /** Keeps the name that was read last, and returns its position. */
  keep(): number {
    if (this.#next + this.#length > PAGE_BYTES) {
      this.#pages.push(new Uint8Array(Math.max(PAGE_BYTES, this.#length)));
      this.#next = 0;
    }
    const page = this.#pages.length - 1;
    const start = this.#next;
    this.#pages[page].set(this.#bytes.subarray(0, this.#length), start);
    this.#next += this.#length;
    return page * PAGE_BYTES + start;
  }

  textAt(position: number): string {
    const page = this.#pages[Math.floor(position / PAGE_BYTES)];
    let text = "";
    for (let at = position % PAGE_BYTES; page[at] !== END; at += 1) {
      let unit = page[at];
      if (unit >= 0xe0) {
        unit = ((unit & 0xf) << 12) | ((page[at + 1] & 0x3f) << 6) | (page[at + 2] & 0x3f);
        at += 2;
      } else if (unit >= 0xc0) {
        unit = ((unit & 0x1f) << 6) | (page[at + 1] & 0x3f);
        at += 1;
      }
      text += String.fromCharCode(unit);
    }
    return text;
  }
}
