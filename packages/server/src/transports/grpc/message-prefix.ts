/** Every message has a prefix: one byte that says whether it is compressed, and four for its length. */
const PREFIX_BYTES = 5;

/** The prefix of a message, known before its body is read. */
export interface MessagePrefix {
  readonly isCompressed: boolean;
  readonly length: number;
}

/** Tracks where the messages of a request start and end, without keeping their bytes. */
export class Arrival {
  private readonly onPrefix: (prefix: MessagePrefix) => void;
  private prefixLeft = PREFIX_BYTES;
  private bodyLeft = 0;
  private isCompressed = false;
  private length = 0;

  constructor(onPrefix: (prefix: MessagePrefix) => void) {
    this.onPrefix = onPrefix;
  }

  /** Whether a message has started and not ended. */
  get isPartial(): boolean {
    return this.prefixLeft < PREFIX_BYTES;
  }

  take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.prefixLeft > 0) {
        this.takePrefixByte(chunk[at]);
        at += 1;
      } else {
        const taken = Math.min(this.bodyLeft, chunk.length - at);
        this.bodyLeft -= taken;
        at += taken;
      }
      if (this.prefixLeft === 0 && this.bodyLeft === 0) this.prefixLeft = PREFIX_BYTES;
    }
  }

  private takePrefixByte(byte: number): void {
    if (this.prefixLeft === PREFIX_BYTES) {
      this.isCompressed = byte !== 0;
      this.length = 0;
    } else this.length = this.length * 256 + byte;
    this.prefixLeft -= 1;
    if (this.prefixLeft > 0) return;
    this.bodyLeft = this.length;
    this.onPrefix({ isCompressed: this.isCompressed, length: this.length });
  }
}
