import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Answered, Failed, Line } from "./line.ts";

/** In the reply to THROTTLE: the number of integers, and each of the five. */
const LINES = 6;
/** Where the first integer is in the reply. */
const ALLOWED_AT = "*5\r\n:".length;

/** THROTTLE commands over RESP, as throttlecrab has it. */
export class RespLine implements Line {
  private readonly socket: Socket;
  private readonly failed: Failed;
  private readonly underWay: Answered[] = [];
  private out = "";
  private rest = "";

  private constructor(socket: Socket, failed: Failed) {
    this.socket = socket;
    this.failed = failed;
    socket.on("data", (text: string) => this.read(this.rest + text));
    socket.on("error", failed);
    socket.on("close", () => failed(new Error("the server closed a connection")));
  }

  /** With a key for servers that require one. */
  static async connect(port: number, key: string | undefined, failed: Failed): Promise<RespLine> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1");
    await once(socket, "connect");
    if (key !== undefined) {
      socket.write(respCommand("AUTH", key));
      const [answer] = await once(socket, "data");
      if (answer !== "+OK\r\n") throw new Error(`answered ${answer}`);
    }
    return new RespLine(socket, failed);
  }

  ask(request: Buffer, answered: Answered): void {
    this.underWay.push(answered);
    // Everything of one turn of the event loop is sent at once.
    if (this.out === "") {
      process.nextTick(() => {
        this.socket.write(this.out, "latin1");
        this.out = "";
      });
    }
    this.out += request.toString("latin1");
  }

  close(): void {
    this.socket.removeAllListeners("close").destroy();
  }

  private read(text: string): void {
    let start = 0;
    for (let end = endOf(text, start); end > 0; end = endOf(text, start)) {
      const isAdmitted = text[start + ALLOWED_AT] === "1";
      start = end;
      this.underWay.shift()?.(isAdmitted);
    }
    this.rest = text.slice(start);
    if (this.rest.startsWith("-")) this.failed(new Error(`answered ${this.rest}`));
  }
}

/** Where a reply ends; 0 if it is incomplete or an error. */
function endOf(text: string, start: number): number {
  if (text[start] !== "*") return 0;
  let end = start;
  for (let line = 0; line < LINES; line += 1) {
    end = text.indexOf("\n", end) + 1;
    if (end === 0) return 0;
  }
  return end;
}

export function respCommand(...args: readonly string[]): Buffer {
  return Buffer.from(`*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`, "latin1");
}
