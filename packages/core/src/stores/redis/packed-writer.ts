/** Writes what `struct.unpack` reads in a script: numbers as doubles, which lose no bit, and texts with a zero behind them. */
export class PackedWriter {
  private room: Buffer;
  private length = 0;

  constructor(bytes = 128) {
    this.room = Buffer.allocUnsafe(bytes);
  }

  /** Begins again, in the same memory: what was packed before must have been copied. */
  reset(): this {
    this.length = 0;
    return this;
  }

  number(value: number): void {
    this.ensure(8);
    this.room.writeDoubleLE(value, this.length);
    this.length += 8;
  }

  /** Without zeros in it, and in ASCII. */
  text(value: string): void {
    this.ascii(value);
    this.ensure(1);
    this.room[this.length] = 0;
    this.length += 1;
  }

  /** Of a length that the reader knows. */
  ascii(value: string): void {
    this.ensure(value.length);
    this.room.write(value, this.length, "latin1");
    this.length += value.length;
  }

  /** Any text, with its length in bytes before it. */
  sized(value: string): void {
    const length = Buffer.byteLength(value);
    this.number(length);
    this.ensure(length);
    this.room.write(value, this.length);
    this.length += length;
  }

  bytes(value: Uint8Array): void {
    this.ensure(value.length);
    this.room.set(value, this.length);
    this.length += value.length;
  }

  get packed(): Buffer {
    return this.room.subarray(0, this.length);
  }

  private ensure(more: number): void {
    if (this.length + more <= this.room.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.length + more));
    larger.set(this.packed);
    this.room = larger;
  }
}
