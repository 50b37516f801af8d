// Serves CL.THROTTLE, or answers every command with the same five integers, in a separate process whose CPU time is
// measured.

import { createServer } from "node:net";
import { serving } from "../run/serving.ts";
import { startNode } from "./node.ts";
import { RESP_CONSTANT } from "./subjects.ts";

const REPLY = "*5\r\n:0\r\n:1000000\r\n:999999\r\n:-1\r\n:1\r\n";

const [subject] = process.argv.slice(2);
serving(subject === RESP_CONSTANT ? await constant() : await node());

async function node(): Promise<number> {
  const { addresses } = await startNode({ resp: "127.0.0.1:0", "checks-limit": "100000000/s" });
  return Number(addresses.resp?.split(":").at(-1));
}

/** As little as a server can do: it reads the arguments of each command as strings, and answers the same every time. */
function constant(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    let rest: Buffer | undefined;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const chunk = rest === undefined ? bytes : Buffer.concat([rest, bytes]);
      const { commands, end } = countCommands(chunk);
      rest = end < chunk.length ? chunk.subarray(end) : undefined;
      let out = "";
      for (let i = 0; i < commands; i += 1) out += REPLY;
      if (out !== "") socket.write(out, "latin1");
    });
  });
  return new Promise((resolve) => {
    server.listen({ port: 0, host: "127.0.0.1" }, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

/** The commands that have arrived, and where the next one begins. */
function countCommands(chunk: Buffer): { readonly commands: number; readonly end: number } {
  let commands = 0;
  let end = 0;
  for (;;) {
    let at = end;
    const number = (): number => {
      let value = 0;
      for (at += 1; at < chunk.length && chunk[at] !== 13; at += 1) value = value * 10 + chunk[at] - 48;
      at += 2;
      return value;
    };
    const args: string[] = [];
    for (let left = number(); left > 0 && at < chunk.length; left -= 1) {
      const length = number();
      args.push(chunk.toString("latin1", at, at + length));
      at += length + 2;
      if (left === 1 && at <= chunk.length) commands += 1;
    }
    if (at > chunk.length || args.length === 0) return { commands, end };
    end = at;
  }
}
