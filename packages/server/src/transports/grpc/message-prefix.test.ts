import { expect, it } from "vitest";
import { Arrival, type MessagePrefix } from "./message-prefix.ts";

function message(length: number, flag = 0): Buffer {
  const bytes = Buffer.alloc(5 + length, 1);
  bytes.writeUInt8(flag, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

it.each([1, 2, 3, 5, 7, 300, 1_000])("finds the messages in chunks of %i bytes", (size) => {
  const bytes = Buffer.concat([message(0), message(1), message(259, 1), message(70)]);
  const prefixes: MessagePrefix[] = [];
  const arrival = new Arrival((prefix) => prefixes.push(prefix));
  for (let at = 0; at < bytes.length; at += size) arrival.take(bytes.subarray(at, at + size));
  expect(prefixes.map(({ length }) => length)).toEqual([0, 1, 259, 70]);
  expect(prefixes.map(({ isCompressed }) => isCompressed)).toEqual([false, false, true, false]);
  expect(arrival.isPartial).toBe(false);
});

it("knows whether a message is incomplete, from its first byte to its last", () => {
  const arrival = new Arrival(() => {});
  expect(arrival.isPartial).toBe(false);
  const bytes = message(3);
  for (const byte of bytes.subarray(0, -1)) {
    arrival.take(Buffer.of(byte));
    expect(arrival.isPartial).toBe(true);
  }
  arrival.take(bytes.subarray(-1));
  expect(arrival.isPartial).toBe(false);
});
