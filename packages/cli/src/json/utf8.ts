import { isUtf8 } from "node:buffer";

const NOTHING = Buffer.alloc(0);
const BYTE_ORDER_MARK = "\ufeff";

/** Turns bytes that come in pieces into text. A character may lie across two pieces. */
export class Utf8Pieces {
  private unfinished: Buffer = NOTHING;
  private begun = false;

  /** The text up to the first byte that is not UTF-8, and whether there was none. */
  decode(piece: Buffer): { text: string; valid: boolean } {
    const bytes = this.unfinished.length === 0 ? piece : Buffer.concat([this.unfinished, piece]);
    const end = bytes.length - unfinishedLength(bytes);
    // A copy, since whoever reads the pieces may fill their memory again.
    this.unfinished = end === bytes.length ? NOTHING : Buffer.from(bytes.subarray(end));
    const valid = isUtf8(bytes.subarray(0, end));
    return { text: this.withoutMark(bytes.toString("utf8", 0, valid ? end : validLength(bytes))), valid };
  }

  /** Whether the bytes so far end within a character. */
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

/** How many bytes a character has, by its first one. */
function characterLength(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
