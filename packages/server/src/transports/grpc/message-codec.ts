import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";

/** The bytes of a request are not a protobuf message. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** Reads a whole message. Whatever the reader throws means that the message is malformed. */
export function decode<Message>(read: (reader: BinaryReader) => Message, bytes: Uint8Array): Message {
  try {
    return read(new BinaryReader(bytes));
  } catch (error) {
    throw new MalformedMessage(error instanceof Error ? error.message : String(error));
  }
}

/** The number and wire type of the next field, as one number; 0 at the end of the message. */
export function nextTag(reader: BinaryReader): number {
  if (reader.pos >= reader.len) return 0;
  const [field, type] = reader.tag();
  return (field << 3) | type;
}

/** Skips a field that is not known. */
export function skip(reader: BinaryReader, tag: number): void {
  reader.skip(tag & 7, tag >>> 3);
}

/** Strict: replacing bytes that are not UTF-8 would make different identifiers the same. */
export function readString(reader: BinaryReader): string {
  return reader.string(true);
}

export function readInt64(reader: BinaryReader): number {
  const value = Number(reader.int64());
  if (!Number.isSafeInteger(value)) throw new RangeError("a number is larger than 2^53 - 1");
  return value;
}

/** The largest number that is written as 32 bits, which is faster and gives the same bytes. */
const MOST_UINT32 = 2 ** 32 - 1;

/** Writes messages, one after the other. Fields with their default value are left out. */
export class MessageWriter {
  private writer = new BinaryWriter();

  /** Returns what `write` writes. If it throws, nothing of it is left for the next message. */
  encode(write: () => void): Buffer {
    try {
      write();
      const { buffer, byteOffset, length } = this.writer.finish();
      return Buffer.from(buffer, byteOffset, length);
    } catch (error) {
      this.writer = new BinaryWriter();
      throw error;
    }
  }

  bool(field: number, value: boolean): void {
    if (value) this.number(field, 1);
  }

  int64(field: number, value: number): void {
    if (value !== 0) this.number(field, value);
  }

  /** Written even if it is 0. */
  number(field: number, value: number): void {
    this.writer.uint32(field << 3);
    if (value >= 0 && value <= MOST_UINT32) this.writer.uint32(value);
    else this.writer.int64(value);
  }

  string(field: number, value: string): void {
    if (value !== "") this.writer.uint32((field << 3) | 2).string(value);
  }

  /** A nested message, even if it is empty. */
  message<Value>(field: number, value: Value, write: (value: Value, writer: MessageWriter) => void): void {
    this.writer.uint32((field << 3) | 2).fork();
    write(value, this);
    this.writer.join();
  }
}
