import { once } from "node:events";
import type { Writable } from "node:stream";

/** Buffers lines, writes them in chunks, and waits while the reader is slower. */
export class Output {
  private readonly stream: Writable;
  private waiting = "";

  constructor(stream: Writable) {
    this.stream = stream;
  }

  add(line: string): void {
    this.waiting += line;
  }

  async flush(): Promise<void> {
    if (this.waiting === "") return;
    const lines = this.waiting;
    this.waiting = "";
    // Lines are ASCII.
    if (!this.stream.write(lines, "latin1")) await once(this.stream, "drain");
  }
}
