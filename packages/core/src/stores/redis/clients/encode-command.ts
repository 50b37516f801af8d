import type { RedisArgument } from "./redis-client.ts";

/**
 * A command as Redis reads it. ioredis encodes one with a Buffer among its arguments piece by piece, which makes a single
 * check an eighth slower.
 */
export function encodeCommand(command: readonly RedisArgument[]): Buffer {
  const parts: Buffer[] = [];
  let text = `*${command.length}\r\n`;
  for (const argument of command) {
    if (typeof argument === "string") {
      text += `$${Buffer.byteLength(argument)}\r\n${argument}\r\n`;
    } else {
      parts.push(withBytes(`${text}$${argument.length}\r\n`, argument));
      text = "";
    }
  }
  if (text !== "") parts.push(Buffer.from(text));
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

const CR = 13;
const LF = 10;

/** A text, then bytes and the end of their line. */
function withBytes(text: string, bytes: Buffer): Buffer {
  const length = Buffer.byteLength(text);
  const all = Buffer.allocUnsafe(length + bytes.length + 2);
  all.write(text);
  all.set(bytes, length);
  all[length + bytes.length] = CR;
  all[length + bytes.length + 1] = LF;
  return all;
}
