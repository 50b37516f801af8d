import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixedWindow, MemoryStore } from "headgate";
import { ManualClock } from "headgate/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedRequests } from "./recorded-requests.ts";
import { Recorder } from "./recorder.ts";
import { type RecordingEntry, readEntry } from "./recording-entry.ts";
import { RecordingFile } from "./recording-file.ts";
import { replayRecordings } from "./replay-recordings.ts";

const MAX_BYTES = 24_000;
const RULE = { name: "r", counter: "c", limit: fixedWindow("5/s") };

let folder: string;
let clock: ManualClock;
let store: MemoryStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-ended-"));
  clock = new ManualClock(1_767_225_600_000);
  store = new MemoryStore({ clock });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A process that records what the store does. */
async function start(node: string, maxBytes = MAX_BYTES, processes = 1) {
  const onFailure = (error: Error): void => expect.unreachable(error.message);
  const file = await RecordingFile.create({ folder, node, maxBytes, processes, onFailure });
  const add = (entry: RecordingEntry): void => file.add(entry);
  const recorder = new Recorder({ node, oneIn: 1, secret: "a secret of the tests", add, now: () => clock.now() });
  const recorded = recorder.recorded(store);
  const take = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) {
      await clock.advance(13);
      recorded.apply("take", [{ rule: RULE, key: `user:${i % 7}`, cost: 1 }]);
    }
  };
  return { take, close: () => file.close() };
}

function segments(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
}

/** Of all recordings. */
function size(): number {
  return segments().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function linesIn(name: string): string[] {
  return readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
}

function timesIn(name: string): number[] {
  return linesIn(name).flatMap((line) => {
    const entry = readEntry(line);
    return entry?.type === "call" ? [entry.time] : [];
  });
}

describe("recordings of earlier starts", () => {
  it("keep to the maximum size together with the current one, and the latest are kept", async () => {
    for (let i = 0; i < 12; i += 1) {
      const { take, close } = await start(`n${i + 10}`);
      for (let round = 0; round < 10; round += 1) {
        await take(i % 3 === 0 ? 30 : 6);
      }
      await close();
      expect(size()).toBeLessThanOrEqual(MAX_BYTES);
    }
    expect(size()).toBeGreaterThan(MAX_BYTES / 2);
    const times = segments().flatMap(timesIn);
    // Nothing is missing since the first one that is left.
    expect(times).toEqual(Array.from(times, (_, i) => clock.now() - (times.length - 1 - i) * 13_000));
    expect(new Set(segments().map((name) => name.slice(0, 3))).size).toBeGreaterThan(2);
    const { completeFrom, differing, incomplete } = await replayRecordings(segments().map(linesIn));
    expect({ completeFrom, differing, incomplete }).toEqual({
      completeFrom: times[0] - 13_000,
      differing: 0,
      incomplete: 0,
    });
    const page = await new RecordedRequests(folder).page({ rule_id: "r", consistency: "strict" }, { limit: 5_000 });
    expect(page.requests).toHaveLength(times.length);
    expect(page.completeFrom).toBe(completeFrom);
    // No locks are left.
    expect(readdirSync(folder)).toEqual(segments());
  });

  it("are deleted when the maximum becomes smaller, or there are too many of them", async () => {
    const large = await start("a");
    await large.take(180);
    await large.close();
    const before = size();
    expect(before).toBeGreaterThan(12_000);
    await (await start("b", 8_000)).close();
    expect(size()).toBeLessThanOrEqual(8_000);
    for (let i = 0; i < 300; i += 1) {
      const header = [`["h",1,"s${i + 100}",1,${clock.now()}]`, ""].join("\n");
      writeFileSync(join(folder, `s${i + 100}.000000.jsonl`), header);
    }
    await (await start("t", 1_000_000)).close();
    expect(segments()).toHaveLength(257);
  });

  it("are deleted by each process of a node, within the maximum of all", async () => {
    const old = await start("a");
    await old.take(300);
    await old.close();
    const before = size();
    const workers = await Promise.all(["b", "c", "d"].map((node) => start(node, MAX_BYTES, 3)));
    await Promise.all(workers.map(({ close }) => close()));
    // There is room for a segment of each. The rest is still there.
    expect(size()).toBeLessThanOrEqual(MAX_BYTES);
    expect(size()).toBeGreaterThan(before - MAX_BYTES / 4);
    const more = await Promise.all(["e", "f", "g"].map((node) => start(node, MAX_BYTES, 3)));
    for (let round = 0; round < 300; round += 1) {
      for (const { take } of more) await take(1);
    }
    await Promise.all(more.map(({ close }) => close()));
    expect(size()).toBeLessThanOrEqual(MAX_BYTES);
    // Segments are not quite full, which may leave room for one.
    expect(segments().filter((name) => name.startsWith("a")).length).toBeLessThanOrEqual(1);
    for (const node of ["e", "f", "g"]) {
      expect(segments().filter((name) => name.startsWith(node)).length).toBeGreaterThanOrEqual(7);
    }
  });

  it("of processes that were killed are deleted too, and what else they left", async () => {
    const killed = await start("a");
    await killed.take(300);
    const begun = await start("b");
    await killed.close();
    await begun.close();
    const lock = JSON.stringify({ ...JSON.parse(await lockOfThisProcess()), started: "1" });
    for (const node of ["a", "b", "c"]) writeFileSync(join(folder, `${node}.lock`), lock);
    // Killed before the first line was written.
    writeFileSync(join(folder, "c.000000.jsonl"), "");
    const { take, close } = await start("d");
    await take(300);
    await close();
    expect(size()).toBeLessThanOrEqual(MAX_BYTES);
    expect(segments().filter((name) => name.startsWith("a")).length).toBeLessThanOrEqual(1);
    expect(segments()).not.toContain("c.000000.jsonl");
    expect(readdirSync(folder)).toEqual(segments());
  });
});

async function lockOfThisProcess(): Promise<string> {
  const { close } = await start("own");
  const lock = readFileSync(join(folder, "own.lock"), "utf8");
  await close();
  rmSync(join(folder, "own.000000.jsonl"));
  return lock;
}

describe("never deleted", () => {
  it("are recordings of running processes, and files that are not recordings", async () => {
    const other = await start("a");
    await other.take(150);
    const foreign = {
      "notes.jsonl": `${"a".repeat(MAX_BYTES)}\n`,
      "b.000000.jsonl": `["h",1,"another",1,1]\n${"a".repeat(MAX_BYTES)}\n`,
      "c.000001.jsonl": "",
      "d.lock": "not a lock",
      "e.000000.jsonl.gz": "a".repeat(MAX_BYTES),
    };
    for (const [name, text] of Object.entries(foreign)) {
      writeFileSync(join(folder, name), text);
      utimesSync(join(folder, name), 1, 1);
    }
    const { take, close } = await start("m");
    await take(150);
    await close();
    await (await start("n", 1_000)).close();
    await other.close();
    const found = readdirSync(folder);
    for (const [name, text] of Object.entries(foreign)) expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    const times = found.filter((name) => name.startsWith("a.")).flatMap(timesIn);
    expect(times).toHaveLength(150);
    // It had ended.
    expect(found.filter((name) => name.startsWith("m"))).toEqual([]);
  });
});
