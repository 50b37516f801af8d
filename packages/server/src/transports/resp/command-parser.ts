/** What a client may send. */
export interface CommandBounds {
  readonly arguments: number;
  /** Length of one argument, in bytes. */
  readonly argument: number;
  /** Length of a whole command, in bytes. */
  readonly command: number;
}

/** Clients that have not presented a key send a key and little else. */
export const UNAUTHENTICATED_BOUNDS: CommandBounds = { arguments: 10, argument: 2_048, command: 8_192 };
export const BOUNDS: CommandBounds = { arguments: 1_024, argument: 65_536, command: 1_048_576 };

/** The client does not speak the protocol; the connection cannot be used any more. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

const CR = 13;
const LF = 10;
const ARRAY = 42;
const BULK = 36;
const ZERO = 48;
const CRLF = 2;
/** Enough for every length within the bounds. */
const MOST_DIGITS = 10;

/**
 * Reads commands from a connection, however their bytes are distributed over packets. Bytes are handled as a string of
 * characters 0 to 255: slices of a string are cheaper than slices of a buffer, and any byte survives.
 */
export class CommandParser {
  bounds: CommandBounds = UNAUTHENTICATED_BOUNDS;
  /** Number of arguments of the current command, with its name. */
  count = 0;
  /** Where `point` has found an argument. */
  source = "";
  start = 0;
  end = 0;
  private text = "";
  /** Where the next command begins. */
  private at = 0;
  /** Where the current command began. */
  private began = 0;
  /** How much text a command needs that has not arrived completely. */
  private needed = 0;
  /** Where the arguments are, from where the current command began. */
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private inline: readonly string[] | undefined;
  /** The packet that arrived last and has commands to be read, and where in the text it is. */
  private packet: Buffer | undefined;
  private packetAt = 0;
  private bytes: DataView | undefined;

  push(packet: Buffer): void {
    // Not with `setEncoding`, which takes longer than the rest of a packet with one command.
    const text = packet.toString("latin1");
    const rest = this.unread;
    this.text = rest > 0 ? this.text.slice(this.at) + text : text;
    this.at = 0;
    this.began = 0;
    this.packet = packet;
    this.packetAt = rest;
    this.bytes = undefined;
  }

  /** Bytes that are not part of a command that was read. */
  get unread(): number {
    return this.text.length - this.at;
  }

  /** Whether the next command has arrived; if so, its arguments can be read until the next call. */
  next(): boolean {
    // Most often, the packet ends with a command.
    while (this.at < this.text.length) {
      if (this.text.length - this.at < this.needed) return false;
      this.needed = 0;
      this.began = this.at;
      const found = this.text.charCodeAt(this.at) === ARRAY ? this.readArray() : this.readInline();
      if (!found) break;
      // Empty commands are skipped, as Redis does.
      if (this.count > 0) return true;
    }
    // Connections that wait need not keep what was read.
    if (this.unread === 0) {
      this.text = "";
      this.at = 0;
    }
    this.source = "";
    this.packet = undefined;
    this.bytes = undefined;
    return false;
  }

  /**
   * Whether the next command differs from the current one in this argument alone, and can be read from now on. To
   * compare two commands takes less than to read one. If not, `next` tells whether there is another command.
   */
  nextAlike(index: number): boolean {
    const { text, began, at, starts, ends, packetAt } = this;
    const before = ends[index - 1] + CRLF;
    // The shortest argument has a line of four characters.
    if (this.inline !== undefined || began < packetAt || at === began || text.length - at < before + 5) return false;
    const length = shortLength(text, at + before + 1);
    if (length < 0) return false;
    const start = before + (length < 10 ? 2 : 3) + CRLF;
    const moved = start + length - ends[index];
    const size = at - began + moved;
    if (text.length - at < size || size > this.bounds.command) return false;
    const bytes = this.bytes ?? this.viewPacket();
    if (bytes === undefined || !isRepeated(bytes, began - packetAt, at - packetAt, before + 1)) return false;
    const after = began - packetAt + ends[index];
    if (!isRepeated(bytes, after, after + at - began + moved, at - began - ends[index])) return false;
    starts[index] = start;
    ends[index] = start + length;
    for (let i = index + 1; moved !== 0 && i < this.count; i += 1) {
      starts[i] += moved;
      ends[i] += moved;
    }
    this.began = at;
    this.at = at + size;
    return true;
  }

  /** The current command is read again by the next call of `next`. */
  back(): void {
    this.at = this.began;
  }

  /** An argument, one character for each byte. The name of the command is the first. */
  argument(index: number): string {
    const { inline, text, began } = this;
    return inline === undefined ? text.slice(began + this.starts[index], began + this.ends[index]) : inline[index];
  }

  /** Says in `source`, `start` and `end` where an argument is, for readers that need no string of its own. */
  point(index: number): void {
    const { inline, text, began } = this;
    if (inline === undefined) {
      this.source = text;
      this.start = began + this.starts[index];
      this.end = began + this.ends[index];
    } else {
      this.source = inline[index];
      this.start = 0;
      this.end = this.source.length;
    }
  }

  /** Whether an argument is this, which takes less than to read it. */
  is(index: number, text: string): boolean {
    if (this.inline !== undefined) return this.inline[index] === text;
    const start = this.starts[index];
    return this.ends[index] - start === text.length && this.text.startsWith(text, this.began + start);
  }

  /** How many commands like the current one have arrived with it, at most. */
  get alike(): number {
    return Math.floor((this.text.length - this.began) / (this.at - this.began));
  }

  /** An argument in UTF-8; undefined if it is not. */
  utf8(index: number): string | undefined {
    const bytes = this.argument(index);
    const decoded = Buffer.from(bytes, "latin1").toString("utf8");
    return decoded.includes("\ufffd") && Buffer.from(decoded, "utf8").toString("latin1") !== bytes
      ? undefined
      : decoded;
  }

  /** Several arguments with what is between them: equal texts are equal arguments. */
  span(first: number, last: number): string {
    return this.inline === undefined
      ? this.text.slice(this.began + this.starts[first], this.began + this.ends[last])
      : JSON.stringify(this.inline.slice(first, last + 1));
  }

  /** Whether the arguments from `first` on are these, as `span` returned them. */
  spans(first: number, span: string, last: number): boolean {
    if (this.inline !== undefined) return this.span(first, last) === span;
    const start = this.starts[first];
    return this.ends[last] - start === span.length && this.text.startsWith(span, this.began + start);
  }

  /** Made for packets with several commands only. */
  private viewPacket(): DataView | undefined {
    const { packet } = this;
    this.bytes = packet && new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    return this.bytes;
  }

  private readArray(): boolean {
    const { text, bounds, began, starts, ends } = this;
    this.inline = undefined;
    const most = this.at + bounds.command;
    let end = this.lineEnd(this.at + 1);
    if (end < 0) return false;
    const count = numberIn(text, this.at + 1, end);
    if (!(count <= bounds.arguments)) throw new ProtocolError("invalid multibulk length");
    let at = end + CRLF;
    for (let i = 0; i < count; i += 1) {
      if (at >= text.length) return false;
      if (text.charCodeAt(at) !== BULK) throw new ProtocolError(`expected '$', got '${shown(text[at])}'`);
      let length = shortLength(text, at + 1);
      if (length >= 0) {
        end = at + (length < 10 ? 2 : 3);
      } else {
        end = this.lineEnd(at + 1);
        if (end < 0) return false;
        length = numberIn(text, at + 1, end);
        if (!(length >= 0 && length <= bounds.argument)) throw new ProtocolError("invalid bulk length");
      }
      at = end + CRLF;
      starts[i] = at - began;
      ends[i] = at - began + length;
      at += length + CRLF;
      if (at > most) throw new ProtocolError("too big multibulk request");
      if (at > text.length) {
        this.needed = at - this.at;
        return false;
      }
    }
    this.count = count > 0 ? count : 0;
    this.at = at;
    return true;
  }

  /** Where the line of a length ends; -1 if that has not arrived. */
  private lineEnd(start: number): number {
    const { text } = this;
    let end = start;
    while (end < text.length && text.charCodeAt(end) !== CR) end += 1;
    if (end - start > MOST_DIGITS + 1) throw new ProtocolError("too big count string");
    if (end + 1 >= text.length) return -1;
    if (text.charCodeAt(end + 1) !== LF) throw new ProtocolError("expected a line feed");
    return end;
  }

  /** A line, as people type it into telnet. */
  private readInline(): boolean {
    const { text, bounds } = this;
    const end = text.indexOf("\n", this.at);
    if ((end < 0 ? text.length : end) - this.at > bounds.command) throw new ProtocolError("too big inline request");
    if (end < 0) return false;
    const words = wordsIn(text.slice(this.at, end));
    if (words.length > bounds.arguments) throw new ProtocolError("too many arguments");
    this.inline = words;
    this.count = words.length;
    this.at = end + 1;
    return true;
  }
}

/** The length in a line of one or two digits, as most are and all bounds allow; -1 if the line is not such. */
function shortLength(text: string, start: number): number {
  if (start + 4 > text.length) return -1;
  const tens = text.charCodeAt(start) - ZERO;
  const second = text.charCodeAt(start + 1);
  if (second === CR) return tens >= 0 && tens <= 9 && text.charCodeAt(start + 2) === LF ? tens : -1;
  const ones = second - ZERO;
  // Not with a zero first, whose line is longer than its number.
  const isNumber = tens >= 1 && tens <= 9 && ones >= 0 && ones <= 9;
  return isNumber && text.charCodeAt(start + 2) === CR && text.charCodeAt(start + 3) === LF ? tens * 10 + ones : -1;
}

/** Whether the same bytes are in two places. Four at a time take a fifth of the time of comparing characters. */
function isRepeated(bytes: DataView, one: number, other: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    if (bytes.getInt32(one + i) !== bytes.getInt32(other + i)) return false;
  }
  for (; i < length; i += 1) {
    if (bytes.getInt8(one + i) !== bytes.getInt8(other + i)) return false;
  }
  return true;
}

/** NaN if it is not a whole number. */
function numberIn(text: string, start: number, end: number): number {
  if (end === start) return Number.NaN;
  if (text.charCodeAt(start) === 45) return end - start === 2 && text[start + 1] === "1" ? -1 : Number.NaN;
  let value = 0;
  for (let i = start; i < end; i += 1) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

const WORD = /[^\s"']+|"(?:[^"\\]|\\.)*"(?=\s|$)|'(?:[^'\\]|\\.)*'(?=\s|$)/gy;
const SPACES = /\s*/y;

/** The words of a line; quotes keep spaces together. */
function wordsIn(line: string): readonly string[] {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    SPACES.lastIndex = at;
    SPACES.exec(line);
    at = SPACES.lastIndex;
    if (at >= line.length) return words;
    WORD.lastIndex = at;
    const word = WORD.exec(line)?.[0];
    if (word === undefined) throw new ProtocolError("unbalanced quotes in request");
    words.push(/^["']/.test(word) ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word);
    at = WORD.lastIndex;
  }
}

function shown(character: string): string {
  return /[\x20-\x7e]/.test(character) ? character : "?";
}
