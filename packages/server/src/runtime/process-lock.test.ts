import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { lockState, ProcessLock } from "./process-lock.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-lock-"));
const path = join(folder, "a.lock");
afterEach(() => {
  vi.useRealTimers();
  rmSync(path, { force: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The lock of this process, changed to that of another one. */
function change(fields: object): void {
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...fields }));
}

function touchedAgo(seconds: number): void {
  utimesSync(path, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);
}

it("is held while its process runs", async () => {
  expect(await lockState(path)).toBeUndefined();
  const lock = await ProcessLock.take(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(ProcessLock.take(path)).rejects.toThrow("EEXIST");
  // However long it is frozen.
  touchedAgo(100_000);
  expect(await lockState(path)).toBe("held");
  await lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

it("has ended when its process has, even if another one has the same ID", async () => {
  const lock = await ProcessLock.take(path);
  // Larger than any process ID.
  change({ pid: 2 ** 30 });
  expect(await lockState(path)).toBe("ended");
  change({ pid: process.pid, started: "1" });
  expect(await lockState(path)).toBe("ended");
  change({ started: null });
  expect(await lockState(path)).toBe("held");
  change({ pid: 2 ** 30 });
  expect(await lockState(path)).toBe("ended");
  await lock.release();
});

it("of another machine or container has ended when it was not touched for minutes", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const lock = await ProcessLock.take(path);
  change({ processes: "another machine", pid: 2 ** 30 });
  expect(await lockState(path)).toBe("held");
  touchedAgo(290);
  expect(await lockState(path)).toBe("held");
  touchedAgo(310);
  expect(await lockState(path)).toBe("ended");
  const before = statSync(path).mtimeMs;
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(statSync(path).mtimeMs).toBeGreaterThan(before), { timeout: 20_000 });
  expect(await lockState(path)).toBe("held");
  // Removed by a process that took this one for ended.
  rmSync(path);
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(statSync(path).size).toBeGreaterThan(0), { timeout: 20_000 });
  expect(await lockState(path)).toBe("held");
  await lock.release();
});

it("is not every file with its name", async () => {
  writeFileSync(path, "");
  // A lock that is about to be written.
  expect(await lockState(path)).toBe("held");
  touchedAgo(310);
  expect(await lockState(path)).toBeUndefined();
});
