import { describe, expect, it } from "vitest";
import { BOUNDS, CommandParser, ProtocolError, UNAUTHENTICATED_BOUNDS } from "./command-parser.ts";

function parserOf(...chunks: readonly string[]) {
  const parser = new CommandParser();
  parser.bounds = BOUNDS;
  const commands: string[][] = [];
  for (const chunk of chunks) {
    parser.push(bytesOf(chunk));
    while (parser.next()) commands.push(Array.from({ length: parser.count }, (_, i) => parser.argument(i)));
  }
  return { parser, commands };
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

function encoded(...args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`;
}

const ANY_BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));

describe("commands", () => {
  it.each([1, 2, 3, 7, 50])("arrive whole, in packets of %i bytes", (size) => {
    const sent = [
      ["CL.THROTTLE", "user:42", "15", "30", "60"],
      ["ECHO", ANY_BYTES],
      ["PING"],
      ["ECHO", ""],
      ["ECHO", "\r\n*1\r\n$4\r\nPING\r\n"],
    ];
    const text = `${encoded(...sent[0])}${encoded(...sent[1])}PING\r\n*0\r\n\r\n${encoded(...sent[3])}${encoded(...sent[4])}`;
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(parserOf(...chunks).commands).toEqual(sent);
  });

  it.each([1, 1_000])("may have arguments of any length, in packets of %i bytes", (size) => {
    const lengths = [0, 1, 9, 10, 99, 100, 999];
    const args = lengths.map((length) => "x".repeat(length));
    const zeros = "*2\r\n$05\r\nhello\r\n$010\r\n0123456789\r\n";
    const chunks = `${encoded(...args)}${zeros}`.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(parserOf(...chunks).commands).toEqual([args, ["hello", "0123456789"]]);
  });

  it.each([
    ["PING\n", ["PING"]],
    ["  SET  a\tb \r\n", ["SET", "a", "b"]],
    ['ECHO "a b" \'c "d"\' "e\\"f"\r\n', ["ECHO", "a b", 'c "d"', 'e"f']],
  ])("may be typed: %j", (line, words) => {
    expect(parserOf(line).commands).toEqual([words]);
  });

  it.each([
    ["*-2\r\n", "invalid multibulk length"],
    ["*x\r\n", "invalid multibulk length"],
    ["*1025\r\n", "invalid multibulk length"],
    ["*1\r\n:1\r\n", "expected '$', got ':'"],
    ["*1\r\n$-1\r\n", "invalid bulk length"],
    ["*1\r\n$65537\r\n", "invalid bulk length"],
    ["*1\r\n$1e3\r\n", "invalid bulk length"],
    ["*1\r\n$99999999999999\r\n", "too big count string"],
    [`*${"1".repeat(100)}`, "too big count string"],
    ["*1\r\rPING", "expected a line feed"],
    ["*1\r\n$4\rPING\r\n", "expected a line feed"],
    ["*1\r\n$12\rPING", "expected a line feed"],
    ["*1\r\n$1x\r\nPING", "invalid bulk length"],
    ['ECHO "a\r\n', "unbalanced quotes in request"],
    ['ECHO "a"b\r\n', "unbalanced quotes in request"],
    ["x".repeat(BOUNDS.command + 1), "too big inline request"],
    [encoded(...Array.from({ length: 17 }, () => "x".repeat(65_536))), "too big multibulk request"],
  ])("that break the protocol end the connection: %j", (text, problem) => {
    expect(() => parserOf(text)).toThrow(new ProtocolError(problem));
  });

  it("without a key are short", () => {
    const parser = new CommandParser();
    parser.push(bytesOf(`*2\r\n$4\r\nAUTH\r\n$${UNAUTHENTICATED_BOUNDS.argument + 1}\r\n`));
    expect(() => parser.next()).toThrow("invalid bulk length");
  });

  it("can be put back and read again, with what has arrived since", () => {
    const { parser } = parserOf();
    parser.push(bytesOf(encoded("DEL", "a")));
    expect(parser.next()).toBe(true);
    parser.back();
    parser.push(bytesOf(encoded("PING")));
    expect(parser.next()).toBe(true);
    expect([parser.argument(0), parser.argument(1)]).toEqual(["DEL", "a"]);
    expect(parser.next()).toBe(true);
    expect(parser.argument(0)).toBe("PING");
  });

  it("distinguish UTF-8 and other bytes", () => {
    const { parser } = parserOf();
    const utf8 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
    parser.push(bytesOf(encoded("A", utf8("größe 🦊"), "\xff", utf8("\ufffd"))));
    parser.next();
    expect([1, 2, 3].map((i) => parser.utf8(i))).toEqual(["größe 🦊", undefined, "\ufffd"]);
  });

  it("are found where they are, in lines of words too", () => {
    const { parser } = parserOf();
    parser.push(bytesOf(`${encoded("A", "b", "")}${encoded("A", "cd", "e")}A "f g" h\r\n`));
    const found: string[] = [];
    while (parser.next()) {
      for (const index of [1, 2]) {
        parser.point(index);
        found.push(parser.source.slice(parser.start, parser.end));
      }
    }
    expect(found).toEqual(["b", "", "cd", "e", "f g", "h"]);
  });

  it("are not kept after they were read, so that connections that wait need little memory", () => {
    const { parser } = parserOf();
    parser.push(bytesOf(`${encoded("A", "a key")}${encoded("A", "a key")}`));
    while (parser.next()) parser.point(1);
    expect(JSON.stringify(parser)).not.toContain("a key");
    // Only an incomplete command is kept.
    parser.push(bytesOf(encoded("A", "a key").slice(0, -4)));
    expect(parser.next()).toBe(false);
    parser.push(bytesOf(encoded("A", "a key").slice(-4)));
    expect([parser.next(), parser.argument(1), parser.next()]).toEqual([true, "a key", false]);
  });

  it("are compared without being read", () => {
    const { parser } = parserOf();
    parser.push(bytesOf(encoded("A", "15", "30", "60") + encoded("A", "15", "30", "6")));
    parser.next();
    const span = parser.span(1, 3);
    expect([parser.is(0, "A"), parser.is(0, "AB"), parser.spans(1, span, 3), parser.alike]).toEqual([
      true,
      false,
      true,
      1,
    ]);
    parser.next();
    expect(parser.spans(1, span, 3)).toBe(false);
  });

  it("are compared with the one before, of which one argument may differ", () => {
    const throttle = (key: string, period = "60") => encoded("CL.THROTTLE", key, "15", "30", period);
    const { parser } = parserOf();
    const alike = ["user:1", "user:20", "", "x".repeat(99), "user:3"];
    parser.push(bytesOf(alike.map((key) => throttle(key)).join("")));
    parser.next();
    const read = [parser.argument(1)];
    while (parser.nextAlike(1)) {
      read.push(parser.argument(1));
      expect([parser.argument(0), parser.span(2, 4)]).toEqual(["CL.THROTTLE", "15\r\n$2\r\n30\r\n$2\r\n60"]);
    }
    expect(read).toEqual(alike);
    expect([parser.unread, parser.next()]).toEqual([0, false]);
  });

  it.each([
    ["another limit", encoded("CL.THROTTLE", "b", "15", "30", "61")],
    ["another name", encoded("THROTTLE", "b", "15", "30", "60")],
    ["a name as long", encoded("CL.THROTTLF", "b", "15", "30", "60")],
    ["more arguments", encoded("CL.THROTTLE", "b", "15", "30", "60", "2")],
    ["a long argument", encoded("CL.THROTTLE", "x".repeat(100), "15", "30", "60")],
    ["words", "CL.THROTTLE b 15 30 60\r\n"],
  ])("are not alike with %s", (_, other) => {
    const { parser } = parserOf();
    parser.push(bytesOf(encoded("CL.THROTTLE", "a", "15", "30", "60") + other));
    parser.next();
    expect(parser.nextAlike(1)).toBe(false);
    expect(parser.next()).toBe(true);
    expect(parser.unread).toBe(0);
    expect(parser.nextAlike(1)).toBe(false);
  });

  it.each(Array.from({ length: 54 }, (_, i) => i))("are alike only when they have arrived: %i bytes", (size) => {
    const { parser } = parserOf();
    const [first, second] = [
      encoded("CL.THROTTLE", "a", "15", "30", "60"),
      encoded("CL.THROTTLE", "bc", "15", "30", "60"),
    ];
    parser.push(bytesOf(first + second.slice(0, size)));
    parser.next();
    expect([parser.nextAlike(1), parser.next()]).toEqual([false, false]);
    parser.push(bytesOf(second.slice(size) + first));
    // The current command is not in this packet.
    expect(parser.nextAlike(1)).toBe(false);
    expect([parser.next(), parser.argument(1)]).toEqual([true, "bc"]);
    if (!parser.nextAlike(1)) parser.next();
    expect([parser.argument(1), parser.unread]).toEqual(["a", 0]);
  });

  it("that are too long are not alike", () => {
    const { parser } = parserOf();
    const [short, long] = ["x", "x".repeat(99)].map((key) => encoded("ECHO", key));
    parser.bounds = { ...BOUNDS, command: short.length };
    parser.push(bytesOf(short + long));
    parser.next();
    expect(parser.nextAlike(1)).toBe(false);
    expect(() => parser.next()).toThrow("too big multibulk request");
  });
});
