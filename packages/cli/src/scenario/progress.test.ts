import type { WriteStream } from "node:tty";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress } from "./progress.ts";

const ERASE = "\r\u001b[K";
let now: number;
let written: string;

beforeEach(() => {
  now = 1_000;
  written = "";
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.stubEnv("TERM", "xterm");
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function stream(isTTY = true, columns = 40): WriteStream {
  const write = (text: string): boolean => {
    written += text;
    return true;
  };
  return { isTTY, columns, write } as WriteStream;
}

test("shows nothing if the work is quick", () => {
  const progress = new Progress(stream(), 1_000);
  now += 99;
  progress.show(5, 500);
  progress.erase();
  expect(written).toBe("");
});

test("shows how far it is, ten times a second", () => {
  const progress = new Progress(stream(), 1_000);
  now += 100;
  progress.show(5, 259);
  now += 99;
  progress.show(6, 300);
  expect(written).toBe(`${ERASE}headgate: 5 requests decided (25 %)`);
  written = "";
  now += 1;
  progress.show(7, 1_000);
  expect(written).toBe(`${ERASE}headgate: 7 requests decided (100 %)`);
});

test("shows a bar where there is room for it", () => {
  const progress = new Progress(stream(true, 80), 1_000);
  now += 100;
  progress.show(5, 259);
  expect(written).toBe(`${ERASE}headgate: 5 requests decided  ${"█".repeat(6)}${"░".repeat(18)} 25 %`);
  now += 100;
  written = "";
  progress.show(1_000_000_000, 1_000);
  expect(written).toContain(`  ${"█".repeat(24)} 100 %`);
  expect(written.length - ERASE.length).toBeLessThan(80);
});

test("makes way for what goes to the same terminal, and comes back", () => {
  const progress = new Progress(stream(), undefined);
  now += 100;
  progress.show(5, 259);
  written = "";
  progress.erase();
  progress.erase();
  expect(written).toBe(ERASE);
  written = "";
  progress.show(6, 300);
  expect(written).toBe(`${ERASE}headgate: 5 requests decided`);
});

test.each([
  [false, "xterm"],
  [true, "dumb"],
])("shows nothing where it cannot be erased (terminal %s, TERM %s)", (isTTY, term) => {
  vi.stubEnv("TERM", term);
  const progress = new Progress(stream(isTTY), 1_000);
  now += 1_000;
  progress.show(5, 500);
  expect(written).toBe("");
});
