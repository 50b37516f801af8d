import type { WriteStream } from "node:tty";

const INTERVAL_MS = 100;
const BAR_WIDTH = 24;
/** In a narrower terminal, a line with a bar would be broken, and could not be erased. */
const FEWEST_COLUMNS = 80;
const ERASE = "\r\x1b[K";

/** A progress line for long scenarios. Shows nothing unless the stream is a terminal. */
export class Progress {
  private readonly terminal: WriteStream | undefined;
  private readonly size: number | undefined;
  private due = performance.now() + INTERVAL_MS;
  private text = "";
  private isShown = false;

  /** `size`: number of bytes to read, if known. */
  constructor(stream: WriteStream, size: number | undefined) {
    const { TERM } = process.env;
    this.terminal = stream.isTTY && TERM !== "dumb" ? stream : undefined;
    this.size = size;
  }

  show(requests: number, bytes: number): void {
    if (this.terminal === undefined) return;
    const now = performance.now();
    if (now >= this.due) {
      this.due = now + INTERVAL_MS;
      this.text = `headgate: ${requests} requests decided${this.size ? this.share(bytes / this.size) : ""}`;
    } else if (this.isShown) {
      return;
    }
    if (this.text === "") return;
    this.terminal.write(ERASE + this.text);
    this.isShown = true;
  }

  private share(share: number): string {
    const percent = `${Math.floor(100 * share)} %`;
    const { columns = 0 } = this.terminal ?? {};
    if (columns < FEWEST_COLUMNS) return ` (${percent})`;
    return `  ${"█".repeat(Math.floor(BAR_WIDTH * share)).padEnd(BAR_WIDTH, "░")} ${percent}`;
  }

  /** Removes the line, because decisions may be written to the same terminal. */
  erase(): void {
    if (!this.isShown) return;
    this.terminal?.write(ERASE);
    this.isShown = false;
  }
}
