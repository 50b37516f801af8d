import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gcra, MemoryStore, tokenBucket } from "headgate";
import { ManualClock } from "headgate/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RecordedRequest, RecordedRequests } from "./recorded-requests.ts";
import { Recorder } from "./recorder.ts";
import { entryLine, type RecordingEntry } from "./recording-entry.ts";
import { RecordingFile } from "./recording-file.ts";

const START_MS = 1_767_225_600_000;
const ORDERS = { rule_id: "orders", consistency: "strict" } as const;
const orders = { name: "orders", counter: "60:/orders", limit: tokenBucket("3/m") };
const trial = { name: "orders", counter: "60:candidate:orders", limit: tokenBucket("2/m") };
const all = { name: "all", counter: "60:/**", limit: gcra("4/m") };

let folder: string;
let clock: ManualClock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-recorded-"));
  clock = new ManualClock(START_MS);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A process that records, and what it has written. */
function process(node: string) {
  const lines: string[] = [];
  const add = (entry: RecordingEntry): void => void lines.push(entryLine(entry));
  const recorder = new Recorder({ node, oneIn: 1, secret: "a secret of the tests", add, now: () => clock.now() });
  return { recorder, lines, save: () => writeFileSync(join(folder, `${node}.jsonl`), lines.join("")) };
}

async function pagesOf(
  requests: RecordedRequests,
  rule: Parameters<RecordedRequests["page"]>[0],
  limit: number,
): Promise<RecordedRequest[][]> {
  const pages: RecordedRequest[][] = [];
  let cursor: string | undefined;
  do {
    const page = await requests.page(rule, { limit, cursor });
    expect(page.requests.length).toBeLessThanOrEqual(limit);
    pages.push([...page.requests]);
    cursor = page.next;
  } while (cursor !== undefined);
  return pages;
}

describe("recorded requests", () => {
  it("open no recording twice, whatever the cursor says", async () => {
    const recording = process("a");
    const store = recording.recorder.recorded(new MemoryStore({ clock }));
    for (let i = 0; i < 10; i += 1) store.apply("take", [{ rule: orders, key: "user:1", cost: 1 }]);
    recording.save();
    const requests = new RecordedRequests(folder);
    const { next = "" } = await requests.page(ORDERS, { limit: 1 });
    const [place] = JSON.parse(Buffer.from(next, "base64url").toString());
    const cursor = Buffer.from(JSON.stringify([place, place])).toString("base64url");
    await expect(requests.page(ORDERS, { limit: 1, cursor })).rejects.toMatchObject({ field: "cursor" });
  });

  it("are those of one rule in all recordings of the folder, latest first, page by page", async () => {
    const processes = [process("a"), process("b")];
    const store = new MemoryStore({ clock });
    const stores = processes.map(({ recorder }) => recorder.recorded(store));
    const expected: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      await clock.advance(1_000);
      const isOrder = i % 3 !== 0;
      if (isOrder) expected.unshift(clock.now());
      const rule = isOrder ? orders : all;
      stores[i % 2].apply("take", [{ rule, key: `user:${i % 50}`, cost: 1 + (i % 2) }]);
    }
    for (const { save } of processes) save();
    const requests = new RecordedRequests(folder);
    for (const limit of [70, 400, 5_000]) {
      const found = (await pagesOf(requests, ORDERS, limit)).flat();
      expect(found.map(({ time }) => time).sort((a, b) => b - a)).toEqual(expected);
      expect(new Set(found.map(({ key }) => key)).size).toBe(50);
      expect(found.filter(({ cost }) => cost === 2)).not.toHaveLength(0);
    }
    const { processes: count, completeFrom, requests: latest } = await requests.page(ORDERS, { limit: 400 });
    expect(count).toBe(2);
    // Later ones are all there.
    const since = expected.filter((time) => time > (completeFrom ?? 0));
    expect(since.length).toBeGreaterThan(200);
    expect(latest.map(({ time }) => time)).toEqual(expect.arrayContaining(since));
  });

  it("go back through the segments of a recording, and say since when they are complete", async () => {
    const onFailure = (error: Error): void => expect.unreachable(error.message);
    const file = await RecordingFile.create({ folder, node: "a", maxBytes: 100_000, onFailure });
    const add = (entry: RecordingEntry): void => file.add(entry);
    const recorder = new Recorder({
      node: "a",
      oneIn: 1,
      secret: "a secret of the tests",
      add,
      now: () => clock.now(),
    });
    const store = recorder.recorded(new MemoryStore({ clock }));
    const times: number[] = [];
    for (let i = 0; i < 3_000; i += 1) {
      await clock.advance(1_000);
      times.unshift(clock.now());
      store.apply("take", [{ rule: orders, key: `user:${i % 50}`, cost: 1 }]);
    }
    await file.close();
    expect(readdirSync(folder)).toHaveLength(8);
    const requests = new RecordedRequests(folder);
    for (const limit of [70, 5_000]) {
      const found = (await pagesOf(requests, ORDERS, limit)).flat().map(({ time }) => time);
      expect(found.length).toBeGreaterThan(500);
      expect(found).toEqual(times.slice(0, found.length));
      const { completeFrom, processes } = await requests.page(ORDERS, { limit: 5_000 });
      expect(completeFrom).toBe(times[found.length]);
      expect(processes).toBe(1);
    }
    // The oldest segment is deleted before the last page is read.
    const { next = "", requests: first } = await requests.page(ORDERS, { limit: 400 });
    const [oldest] = readdirSync(folder).sort();
    rmSync(join(folder, oldest));
    const { requests: rest, completeFrom = 0 } = await requests.page(ORDERS, { limit: 5_000, cursor: next });
    const found = [...first, ...rest].map(({ time }) => time);
    expect(found).toEqual(times.slice(0, found.length));
    expect(completeFrom).toBe(times[found.length]);
  });

  it("can be those of one key, with what the store said was left", async () => {
    const one = process("a");
    const store = one.recorder.recorded(new MemoryStore({ clock }));
    for (const user of [1, 2, 1, 3, 1, 1]) store.apply("take", [{ rule: orders, key: `user:${user}`, cost: 1 }]);
    one.save();
    const key = one.recorder.nameOf("user:1");
    const { requests } = await new RecordedRequests(folder).page(ORDERS, { limit: 100, key });
    expect(requests.map(({ remaining, allowed }) => [remaining, allowed])).toEqual([
      [0, false],
      [0, true],
      [1, true],
      [2, true],
    ]);
    expect(new Set(requests.map(({ key }) => key))).toEqual(new Set([key]));
  });

  it("include what was added since, also under limits that were not used before", async () => {
    const one = process("a");
    const store = one.recorder.recorded(new MemoryStore({ clock }));
    const requests = new RecordedRequests(folder);
    const take = (limit = orders.limit) => store.apply("take", [{ rule: orders, key: "user:1", cost: 1, limit }]);
    take();
    one.save();
    expect((await requests.page(ORDERS, { limit: 10 })).requests).toHaveLength(1);
    take(tokenBucket("9/m"));
    one.save();
    expect((await requests.page(ORDERS, { limit: 10 })).requests).toHaveLength(2);
  });

  it("have corrections and retries, but nothing of candidates, peeks and requests that other rules denied", async () => {
    const one = process("a");
    const store = one.recorder.recorded(new MemoryStore({ clock }));
    const own = { rule: orders, key: "user:1", cost: 1 };
    store.apply("take", [own], { idempotencyKey: "x" });
    store.apply("take", [own], { idempotencyKey: "x" });
    store.apply("take", [{ ...own, rule: trial }]);
    store.apply("peek", [own]);
    store.apply("take", [own, { rule: all, key: "user:1", cost: 5 }]);
    store.apply("take", [own, { rule: all, key: "ip:1", cost: 5 }]);
    store.apply("penalize", [{ ...own, cost: 2 }]);
    store.apply("take", [own]);
    store.apply("refund", [own]);
    store.apply("reset", [{ ...own, cost: 0 }]);
    one.save();
    const { requests } = await new RecordedRequests(folder).page(ORDERS, { limit: 100 });
    expect(requests.map(({ action, allowed }) => `${action} ${allowed}`)).toEqual([
      "reset true",
      "refund true",
      "take false",
      "penalize false",
      "take true",
      "take true",
    ]);
    const [first, second] = requests.slice(-2);
    expect(first.idempotencyKey).toBe(second.idempotencyKey);
    expect(first.idempotencyKey).toHaveLength(16);
  });

  it("are the decisions of a rule that is leased, whatever made them", async () => {
    const one = process("a");
    // What a lease obtains is no request.
    one.recorder.recorded(new MemoryStore({ clock })).apply("take", [{ rule: orders, key: "user:1", cost: 3 }]);
    const other = { type: "other", time: clock.now(), key: "k", rule: "orders", allowed: true, cost: 2 } as const;
    one.lines.push(
      entryLine({ ...other, source: "lease" }),
      entryLine({ ...other, source: "store", time: other.time + 1 }),
      entryLine({ ...other, source: "lease", isCandidate: true }),
      entryLine({ ...other, source: "lease", rule: "all" }),
    );
    one.save();
    const requests = new RecordedRequests(folder);
    const found = (await requests.page({ ...ORDERS, consistency: "leased" }, { limit: 10 })).requests;
    expect(found.map(({ time, cost }) => [time - other.time, cost])).toEqual([
      [1, 2],
      [0, 2],
    ]);
  });

  it("can be read from a file that ends in the middle of a line, and from none", async () => {
    const requests = new RecordedRequests(folder);
    expect(await requests.page(ORDERS, { limit: 10 })).toEqual({ processes: 0, requests: [] });
    expect(await new RecordedRequests(join(folder, "gone")).page(ORDERS, { limit: 10 })).toMatchObject({
      processes: 0,
    });
    const one = process("a");
    const store = one.recorder.recorded(new MemoryStore({ clock }));
    store.apply("take", [{ rule: orders, key: "user:1", cost: 1 }]);
    one.lines.push('["c",2,17672256000');
    one.save();
    expect((await requests.page(ORDERS, { limit: 10 })).requests).toHaveLength(1);
  });

  it("refuse a cursor that is not theirs", async () => {
    const requests = new RecordedRequests(folder);
    const cursors = ["x", "W10", Buffer.from('[["../../etc/passwd.jsonl",9,9]]').toString("base64url")];
    for (const cursor of cursors) {
      await expect(requests.page(ORDERS, { limit: 10, cursor })).rejects.toThrow("must be the value of next");
    }
  });
});
