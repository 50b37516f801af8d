import { isUtf8 } from "node:buffer";

const NOTHING = Buffer.alloc(0);
const BYTE_ORDER_MARK = "\ufeff";

/** Decodes chunks of UTF-8. A character may span two chunks. */
export class Utf8Pieces {
  private unfinished: Buffer = NOTHING;
  private begun = false;

  /** Returns the text up to the first invalid byte, and whether the whole chunk was valid. */
  decode(piece: Buffer): { text: string; valid: boolean } {
    const bytes = this.unfinished.length === 0 ? piece : Buffer.concat([this.unfinished, piece]);
    const end = bytes.length - unfinishedLength(bytes);
    // A copy, because the caller may reuse the buffer.
    this.unfinished = end === bytes.length ? NOTHING : Buffer.from(bytes.subarray(end));
    const valid = isUtf8(bytes.subarray(0, end));
    return { text: this.withoutMark(bytes.toString("utf8", 0, valid ? end : validLength(bytes))), valid };
  }

  /** Whether the input so far ends inside a character. */
  get isUnfinished(): boolean {
    return this.unfinished.length > 0;
  }

  private withoutMark(text: string): string {
    if (this.begun || text === "") return text;
    this.begun = true;
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }
}

function unfinishedLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

function validLength(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length) {
    const next = at + characterLength(bytes[at]);
    if (!isUtf8(bytes.subarray(at, next))) return at;
    at = next;
  }
  return at;
}

/** Length of a character in bytes, by its first byte. */
function characterLength(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
