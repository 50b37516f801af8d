import type { WriteStream } from "node:tty";

const INTERVAL_MS = 100;
const ERASE = "\r\x1b[K";

/** A line on a terminal that says how far a long scenario has come. Shows nothing where there is no terminal. */
export class Progress {
  private readonly terminal: WriteStream | undefined;
  private readonly size: number | undefined;
  private due = performance.now() + INTERVAL_MS;
  private text = "";
  private isShown = false;

  /** `size` is how many bytes there are to read, where that is known. */
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
      const share = this.size ? ` (${Math.floor((100 * bytes) / this.size)} %)` : "";
      this.text = `headgate: ${requests} requests decided${share}`;
    } else if (this.isShown) {
      return;
    }
    if (this.text === "") return;
    this.terminal.write(ERASE + this.text);
    this.isShown = true;
  }

  /** Makes way: decisions may go to the same terminal. */
  erase(): void {
    if (!this.isShown) return;
    this.terminal?.write(ERASE);
    this.isShown = false;
  }
}
