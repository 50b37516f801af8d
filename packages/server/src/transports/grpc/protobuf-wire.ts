// Protobuf's wire format, as far as our messages need it. Generated code reads and writes 64-bit numbers by way of
// strings, which costs more than the check itself.
import { isUtf8 } from "node:buffer";

/** Bytes that are no message. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

const TWO_32 = 2 ** 32;
const MOST_NESTED = 32;

/** Reads a message, or a part of one. Tags are whole: the field's number and its wire type. */
export class WireReader {
  private readonly bytes: Buffer;
  private at: number;
  private readonly end: number;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  tag(): number {
    const tag = this.uint32();
    if (tag < 8) throw new MalformedMessage("field number 0 is not allowed");
    return tag;
  }

  bool(): boolean {
    return this.int64() !== 0;
  }

  /** The low 32 bits, as enums and 32-bit numbers are read. */
  uint32(): number {
    const first = this.byte();
    if (first < 128) return first;
    let value = first & 127;
    for (let shift = 7; ; shift += 7) {
      if (shift > 63) throw new MalformedMessage("a number is too long");
      const byte = this.byte();
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  int64(): number {
    const first = this.byte();
    if (first < 128) return first;
    let low = first & 127;
    let high = 0;
    for (let shift = 7; ; shift += 7) {
      if (shift > 63) throw new MalformedMessage("a number is too long");
      const byte = this.byte();
      const bits = byte & 127;
      if (shift < 28) low += bits * 2 ** shift;
      else high += bits * 2 ** (shift - 28);
      if (byte < 128) break;
    }
    // 28 bits are low; of the others 36 count.
    high %= 2 ** 36;
    const value = high >= 2 ** 35 ? (high - 2 ** 36) * 2 ** 28 + low : high * 2 ** 28 + low;
    if (!Number.isSafeInteger(value)) throw new MalformedMessage("a number is larger than 2^53 - 1");
    return value;
  }

  string(): string {
    const from = this.at;
    const length = this.length();
    const start = this.at;
    this.at += length;
    const text = this.bytes.toString("utf8", start, this.at);
    // What is no UTF-8 would become another's name.
    if (text.includes("\ufffd") && !isUtf8(this.bytes.subarray(start, this.at))) {
      throw new MalformedMessage(`a string is not UTF-8 (at byte ${from})`);
    }
    return text;
  }

  message(): WireReader {
    const length = this.length();
    const start = this.at;
    this.at += length;
    return new WireReader(this.bytes, start, this.at);
  }

  /** The bytes of a field themselves. */
  slice(): Buffer {
    const length = this.length();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Passes over a field that is not known. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case 0:
        this.uint32();
        return;
      case 1:
        this.pass(8);
        return;
      case 2:
        this.pass(this.length());
        return;
      case 3:
        if (depth > MOST_NESTED) throw new MalformedMessage("groups are nested too deeply");
        for (let inner = this.tag(); inner !== tag + 1; inner = this.tag()) this.skip(inner, depth + 1);
        return;
      case 5:
        this.pass(4);
        return;
      default:
        throw new MalformedMessage(`a field has the unknown wire type ${tag & 7}`);
    }
  }

  private length(): number {
    const length = this.uint32();
    if (this.at + length > this.end) throw new MalformedMessage("the message is truncated");
    return length;
  }

  private pass(length: number): void {
    if (this.at + length > this.end) throw new MalformedMessage("the message is truncated");
    this.at += length;
  }

  private byte(): number {
    if (this.at >= this.end) throw new MalformedMessage("the message is truncated");
    return this.bytes[this.at++];
  }
}

/** More than any number, tag and length together take. */
const ROOM = 32;

/** Writes messages. One buffer serves them all: each is copied out when it is done. */
export class WireWriter {
  private bytes: Buffer;
  private at = 0;

  /** `room`: so many bytes to begin with. */
  constructor(room: number) {
    this.bytes = Buffer.allocUnsafeSlow(room);
  }

  /** Returns what was written and starts over. */
  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.at);
    this.bytes.copy(message, 0, 0, this.at);
    this.at = 0;
    return message;
  }

  /** Like all below: what has its default value is not written. */
  bool(field: number, value: boolean): void {
    if (value) this.number(field, 1);
  }

  int64(field: number, value: number): void {
    if (value !== 0) this.number(field, value);
  }

  /** Written even if it is 0. */
  number(field: number, value: number): void {
    this.makeRoom(ROOM);
    this.varint(field << 3);
    if (value >= 0) this.varint(value);
    else this.negative(value);
  }

  string(field: number, value: string): void {
    if (value === "") return;
    const { length } = value;
    this.makeRoom(ROOM + 3 * length);
    this.varint((field << 3) | 2);
    if (length < 128 && this.ascii(value)) return;
    const bytes = Buffer.byteLength(value);
    this.varint(bytes);
    this.at += this.bytes.write(value, this.at);
  }

  /** A message within this one, also if it is empty. */
  message<Value>(field: number, value: Value, write: (value: Value, writer: WireWriter) => void): void {
    this.makeRoom(ROOM);
    this.varint((field << 3) | 2);
    // Most are so short that their length takes one byte. Others are moved.
    const start = this.at + 1;
    this.at = start;
    write(value, this);
    const length = this.at - start;
    if (length < 128) {
      this.bytes[start - 1] = length;
      return;
    }
    this.makeRoom(ROOM);
    const extra = length < 2 ** 14 ? 1 : length < 2 ** 21 ? 2 : 3;
    this.bytes.copyWithin(start + extra, start, this.at);
    this.at = start - 1;
    this.varint(length);
    this.at += length;
  }

  /** Writes a short string, if it is plain; else leaves it to be written otherwise. */
  private ascii(value: string): boolean {
    const { bytes } = this;
    const start = this.at + 1;
    for (let i = 0; i < value.length; i += 1) {
      const code = value.charCodeAt(i);
      if (code > 127) return false;
      bytes[start + i] = code;
    }
    bytes[this.at] = value.length;
    this.at = start + value.length;
    return true;
  }

  private varint(value: number): void {
    const { bytes } = this;
    let left = value;
    while (left >= TWO_32) {
      bytes[this.at++] = (left % 128) | 128;
      left = Math.floor(left / 128);
    }
    while (left > 127) {
      bytes[this.at++] = (left & 127) | 128;
      left >>>= 7;
    }
    bytes[this.at++] = left;
  }

  /** Ten bytes: the two's complement in 64 bits. */
  private negative(value: number): void {
    let left = BigInt.asUintN(64, BigInt(value));
    for (; left > 127n; left >>= 7n) this.bytes[this.at++] = Number(left & 127n) | 128;
    this.bytes[this.at++] = Number(left);
  }

  private makeRoom(room: number): void {
    if (this.at + room <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.bytes.length + room));
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }
}
