import { describe, expect, it } from "vitest";
import { BOUNDS, CommandParser, ProtocolError, UNAUTHENTICATED_BOUNDS } from "./command-parser.ts";

function parserOf(...chunks: readonly string[]) {
  const parser = new CommandParser();
  parser.bounds = BOUNDS;
  const commands: string[][] = [];
  for (const chunk of chunks) {
    parser.push(chunk);
    while (parser.next()) commands.push(Array.from({ length: parser.count }, (_, i) => parser.argument(i)));
  }
  return { parser, commands };
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
    parser.push(`*2\r\n$4\r\nAUTH\r\n$${UNAUTHENTICATED_BOUNDS.argument + 1}\r\n`);
    expect(() => parser.next()).toThrow("invalid bulk length");
  });

  it("can be put back and read again, with what has arrived since", () => {
    const { parser } = parserOf();
    parser.push(encoded("DEL", "a"));
    expect(parser.next()).toBe(true);
    parser.back();
    parser.push(encoded("PING"));
    expect(parser.next()).toBe(true);
    expect([parser.argument(0), parser.argument(1)]).toEqual(["DEL", "a"]);
    expect(parser.next()).toBe(true);
    expect(parser.argument(0)).toBe("PING");
  });

  it("tell apart UTF-8 and other bytes", () => {
    const { parser } = parserOf();
    const utf8 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
    parser.push(encoded("A", utf8("größe 🦊"), "\xff", utf8("\ufffd")));
    parser.next();
    expect([1, 2, 3].map((i) => parser.utf8(i))).toEqual(["größe 🦊", undefined, "\ufffd"]);
  });

  it("are compared without being read", () => {
    const { parser } = parserOf();
    parser.push(encoded("A", "15", "30", "60") + encoded("A", "15", "30", "6"));
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
});
