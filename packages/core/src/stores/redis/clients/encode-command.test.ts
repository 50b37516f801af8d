import { expect, it } from "vitest";
import { encodeCommand } from "./encode-command.ts";

it("writes the length of each argument in bytes", () => {
  expect(encodeCommand(["SET", "ключ", ""]).toString()).toBe("*3\r\n$3\r\nSET\r\n$8\r\nключ\r\n$0\r\n\r\n");
});

it("keeps every byte of Buffers, wherever they are", () => {
  const bytes = Buffer.from([0, 13, 10, 128, 255]);
  const encoded = encodeCommand([bytes, "a", bytes, "é"]);
  const expected = [Buffer.from("*4\r\n$5\r\n"), bytes, Buffer.from("\r\n$1\r\na\r\n$5\r\n"), bytes];
  expect(encoded).toEqual(Buffer.concat([...expected, Buffer.from("\r\n$2\r\né\r\n")]));
});
