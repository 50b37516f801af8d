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

/**
 * As little as a server can do: it reads the arguments of each command as strings, in the way of the service, and
 * answers the same every time.
 */
function constant(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    let rest = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const text = rest + bytes.toString("latin1");
      const { commands, end } = readCommands(text);
      rest = text.slice(end);
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

const CR = 13;
const ZERO = 48;

/** The commands that have arrived, and where the next one begins. */
function readCommands(text: string): { readonly commands: number; readonly end: number } {
  const args: string[] = [];
  let commands = 0;
  let end = 0;
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (at += 1; at < text.length && text.charCodeAt(at) !== CR; at += 1) {
      value = value * 10 + text.charCodeAt(at) - ZERO;
    }
    at += 2;
    return value;
  };
  while (at < text.length) {
    const count = number();
    for (let i = 0; i < count && at < text.length; i += 1) {
      const length = number();
      args[i] = text.slice(at, at + length);
      at += length + 2;
      if (i === count - 1 && at <= text.length) {
        commands += 1;
        end = at;
      }
    }
  }
  return { commands, end };
}
