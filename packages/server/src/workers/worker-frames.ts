/**
 * What one worker sends another at a time. Numbers are sent as they are in memory and texts are cut out of one string,
 * because writing each of them as JSON takes several times as long as the checks themselves.
 */
export interface Frame<Other> {
  readonly numbers: Float64Array;
  /** Strings one after the other; their lengths are among the numbers. */
  readonly text: string;
  /** Everything that is rare enough to be JSON. */
  readonly others: readonly Other[];
}

/** Three lengths: of the numbers and of the text in their units, and of the JSON in bytes. */
const HEADER = 12;
const NUMBER = Float64Array.BYTES_PER_ELEMENT;
const CHARACTER = 2;
const FEWEST_NUMBERS = 1_024;

/** Collects a frame. */
export class FrameWriter<Other> {
  #numbers = new Float64Array(FEWEST_NUMBERS);
  #count = 0;
  #text = "";
  #others: Other[] = [];

  number(value: number): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count] = value;
    this.#count += 1;
  }

  text(value: string): void {
    this.#text += value;
  }

  other(value: Other): void {
    this.#others.push(value);
  }

  /** The frame as it is sent. The next one is empty. */
  take(): Buffer {
    const others = this.#others.length === 0 ? "" : JSON.stringify(this.#others);
    const textAt = HEADER + this.#count * NUMBER;
    const othersAt = textAt + this.#text.length * CHARACTER;
    const othersLength = Buffer.byteLength(others);
    const frame = Buffer.allocUnsafe(othersAt + othersLength);
    frame.writeUInt32LE(this.#count, 0);
    frame.writeUInt32LE(this.#text.length, 4);
    frame.writeUInt32LE(othersLength, 8);
    frame.set(new Uint8Array(this.#numbers.buffer, 0, this.#count * NUMBER), HEADER);
    // Not UTF-8, in which keys with half a surrogate pair would be equal.
    frame.write(this.#text, textAt, "utf16le");
    if (othersLength > 0) frame.write(others, othersAt);
    this.clear();
    return frame;
  }

  clear(): void {
    this.#count = 0;
    this.#text = "";
    if (this.#others.length > 0) this.#others = [];
    // After a burst.
    if (this.#numbers.length > 64 * FEWEST_NUMBERS) this.#numbers = new Float64Array(FEWEST_NUMBERS);
  }

  #grow(): void {
    const numbers = new Float64Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

/** Splits a stream of bytes into its frames, and calls `onFrame` with each. */
export function eachFrame<Other>(onFrame: (frame: Frame<Other>) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = [];
  let size = 0;
  /** How many bytes there must be before the next frame can be complete. */
  let wanted = HEADER;
  return (chunk) => {
    rest.push(chunk);
    size += chunk.length;
    if (size < wanted) return;
    const bytes = rest.length === 1 ? chunk : Buffer.concat(rest, size);
    let at = 0;
    for (;;) {
      wanted = frameLength(bytes, at);
      if (bytes.length - at < wanted) break;
      onFrame(frameAt(bytes, at));
      at += wanted;
    }
    size = bytes.length - at;
    rest = size === 0 ? [] : [bytes.subarray(at)];
  };
}

/** The bytes of the frame that begins here, or of its header if that is not complete. */
function frameLength(bytes: Buffer, at: number): number {
  if (bytes.length - at < HEADER) return HEADER;
  const [numbers, text, others] = lengthsAt(bytes, at);
  return HEADER + numbers * NUMBER + text * CHARACTER + others;
}

function lengthsAt(bytes: Buffer, at: number): readonly [numbers: number, text: number, others: number] {
  return [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)];
}

function frameAt<Other>(bytes: Buffer, at: number): Frame<Other> {
  const [count, textLength, othersLength] = lengthsAt(bytes, at);
  const textAt = at + HEADER + count * NUMBER;
  const othersAt = textAt + textLength * CHARACTER;
  // Copied, because numbers must be aligned in memory.
  const numbers = new Float64Array(count);
  new Uint8Array(numbers.buffer).set(bytes.subarray(at + HEADER, textAt));
  return {
    numbers,
    text: textLength === 0 ? "" : bytes.toString("utf16le", textAt, othersAt),
    others: othersLength === 0 ? [] : JSON.parse(bytes.toString("utf8", othersAt, othersAt + othersLength)),
  };
}
