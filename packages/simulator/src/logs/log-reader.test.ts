import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressKey } from "./address-key.ts";
import { formatNamed } from "./log-formats.ts";
import { LogReader } from "./log-reader.ts";
import { mergeLogs } from "./merge-logs.ts";

const encoder = new TextEncoder();

async function* inPieces(text: string, size: number): AsyncIterable<Uint8Array> {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

function lineOf(time: number, key: string): string {
  return JSON.stringify({ time, key });
}

async function keysOf(...logs: readonly LogReader[]): Promise<string[]> {
  const keys: string[] = [];
  await mergeLogs(logs, ({ key }) => keys.push(key));
  return keys;
}

describe("a log", () => {
  it("is read however its bytes come, with or without a last newline, and with CRLF", async () => {
    const keys = ["alice", "zoë", "日本", "😀", "bob"];
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 80 }),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        async (size, end, last) => {
          const text = keys.map((key, i) => lineOf(i, key)).join(end) + (last ? end : "");
          const log = new LogReader("log", inPieces(text, size), { format: formatNamed("json") });
          expect(await keysOf(log)).toEqual(keys);
          expect(log).toMatchObject({ lines: 5, badLines: 0 });
        },
      ),
    );
  });

  it("has bad lines counted, and the first of them shown", async () => {
    const text = [lineOf(1, "a"), "{bad", "", lineOf(2, "b"), ...Array.from({ length: 9 }, () => "x".repeat(500))].join(
      "\n",
    );
    const log = new LogReader("some.log", inPieces(text, 64), { format: formatNamed("json") });
    expect(await keysOf(log)).toEqual(["a", "b"]);
    expect(log).toMatchObject({ lines: 13, badLines: 10 });
    expect(log.shownBadLines).toHaveLength(5);
    expect(log.shownBadLines[0]).toEqual({ log: "some.log", line: 2, problem: "is not valid JSON", text: "{bad" });
    expect(log.shownBadLines[4].text).toHaveLength(160);
  });

  it("may have a line without end, which is not kept", async () => {
    const text = `${lineOf(1, "a")}\n${"x".repeat(3 << 20)}\n${lineOf(2, "b")}\n`;
    const log = new LogReader("log", inPieces(text, 100_000));
    expect(await keysOf(log)).toEqual(["a", "b"]);
    expect(log.shownBadLines).toMatchObject([{ line: 2, problem: "is longer than 1 MiB" }]);
  });

  it("has keys that are not changed by what is read later", async () => {
    const text = Array.from({ length: 50 }, (_, i) => lineOf(i, `a key that is quite long ${i}`)).join("\n");
    const keys = await keysOf(new LogReader("log", inPieces(text, 100), { keyOf: (key) => key.toUpperCase() }));
    expect(keys).toEqual(Array.from({ length: 50 }, (_, i) => `A KEY THAT IS QUITE LONG ${i}`));
  });

  it("of an unknown format is refused", async () => {
    await expect(keysOf(new LogReader("x.log", inPieces("hello\nworld\n", 99)))).rejects.toThrow(
      "format: x.log: the format was not recognized: use one of combined,",
    );
  });

  it("that is empty, or has only blank lines or a header, has no requests", async () => {
    for (const text of ["", "\n\r\n", "time,key\n", "#Version: 1.0\n#Fields: date time c-ip\n"]) {
      expect(await keysOf(new LogReader("x.log", inPieces(text, 99)))).toEqual([]);
    }
  });

  it("is detected although its header, or a blank line, comes before everything else", async () => {
    const csv = "time,key\n1,a\n2,b\n";
    expect(await keysOf(new LogReader("x.csv", inPieces(csv, 9)))).toEqual(["a", "b"]);
    const json = new LogReader("x.log", inPieces(`\n\n${lineOf(1, "a")}\n`, 1));
    expect(await keysOf(json)).toEqual(["a"]);
    expect(json.lines).toBe(3);
  });
});

describe("several logs", () => {
  it("are merged in order of time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(100), { maxLength: 30 }), { maxLength: 4 }), async (all) => {
        const logs = all.map((times, i) => {
          const text = times.sort((a, b) => a - b).map((time) => lineOf(time, `${time} ${i}`));
          return new LogReader(`log ${i}`, inPieces(text.join("\n"), 50), { format: formatNamed("json") });
        });
        const times = (await keysOf(...logs)).map((key) => Number(key.split(" ")[0]));
        expect(times).toEqual(all.flat().sort((a, b) => a - b));
      }),
    );
  });
});

it.each([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:51234", "203.0.113.7"],
  ["[2001:db8::1]:443", "2001:db8:0:0::/64"],
  ["2001:db8:0:0:1::1", "2001:db8:0:0::/64"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["host.example:80", "host.example"],
  ["not:an:address", "not:an:address"],
])("the key of the address %s is %s", (text, key) => {
  expect(addressKey(text)).toBe(key);
});
