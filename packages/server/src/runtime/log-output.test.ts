import { closeSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileOutput, StreamOutput } from "./log-output.ts";

const LINE = `${"x".repeat(999)}\n`;

describe("a stream", () => {
  it("that takes nothing gets about a megabyte; the lines beyond it are lost and counted", () => {
    const stuck = new Writable({ write: () => {} });
    const output = new StreamOutput(stuck);
    for (let i = 0; i < 5_000; i += 1) output.write(LINE);
    expect(stuck.writableLength).toBeLessThan(1.1 * 2 ** 20);
    expect(output.lost).toBe(5_000 - stuck.writableLength / LINE.length);
  });

  it("that fails loses each line, and nothing is thrown", async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    const output = new StreamOutput(broken);
    for (let i = 0; i < 3; i += 1) output.write(LINE);
    await output.flush();
    await new Promise(setImmediate);
    expect(output.lost).toBe(3);
  });
});

describe("a file", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "headgate-log-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("has every line, in their order, also across a rotation", async () => {
    const path = join(folder, "log");
    closeSync(openSync(path, "a"));
    const output = new FileOutput(path);
    for (let i = 0; i < 100; i += 1) output.write(`${i}\n`);
    await output.flush();
    renameSync(path, `${path}.1`);
    output.reopen();
    for (let i = 100; i < 200; i += 1) output.write(`${i}\n`);
    await output.flush();
    const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}\n`).join("");
    expect(readFileSync(`${path}.1`, "utf8")).toBe(lines(0, 100));
    expect(readFileSync(path, "utf8")).toBe(lines(100, 200));
    expect(output.lost).toBe(0);
  });

  it("that is on a full disk loses lines, and takes them again later", async () => {
    const output = new FileOutput("/dev/full");
    for (let i = 0; i < 3; i += 1) output.write(LINE);
    await output.flush();
    expect(output.lost).toBe(3);
  });

  it("that cannot be opened again stays as it is", async () => {
    const path = join(folder, "gone", "log");
    expect(() => new FileOutput(path)).toThrow(/--log-file: .*cannot be opened for writing \(ENOENT\)/);
  });
});
