import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  fixedWindow,
  gcra,
  type Limit,
  MemoryStore,
  type Store,
  StoreError,
  slidingWindowLog,
  tokenBucket,
} from "headgate";
import { StoreWrapper } from "headgate/store";
import { ManualClock } from "headgate/testing";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { Recorder } from "./recorder.ts";
import { entryLine, type RecordingEntry, readEntry } from "./recording-entry.ts";
import { RecordingFile } from "./recording-file.ts";
import { replayRecordings } from "./replay-recordings.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-recorder-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = "a secret of the tests";

function recorder(clock: ManualClock, oneIn = 1, node = "n"): { recorder: Recorder; lines: string[] } {
  const lines: string[] = [];
  const add = (entry: RecordingEntry): void => void lines.push(entryLine(entry).trimEnd());
  return { recorder: new Recorder({ node, oneIn, secret: SECRET, add, now: () => clock.now() }), lines };
}

const limits: readonly Limit[] = [
  tokenBucket("5/s", { burst: 3 }),
  gcra("7/3s"),
  fixedWindow("4/2s"),
  slidingWindowLog("5/2s"),
];

const steps = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 900 }),
    node: fc.integer({ min: 0, max: 1 }),
    action: fc.constantFrom("take", "take", "take", "peek", "penalize", "refund", "reset"),
    key: fc.constantFrom("user:a", "user:b"),
    other: fc.option(fc.constantFrom("ip:x", "ip:y"), { nil: undefined }),
    rules: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }),
    cost: fc.integer({ min: 1, max: 4 }),
    idempotencyKey: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
    larger: fc.boolean(),
  }),
  { maxLength: 80 },
);

describe("a recording", () => {
  it("finds out which of two nodes was first, if only one of them knew a changed limit", async () => {
    const changed = [slidingWindowLog("30/3s"), slidingWindowLog("50/3s")];
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const clock = new ManualClock(1_767_225_600_000);
      const store = new MemoryStore({ clock });
      const nodes = [recorder(clock, 1, "a"), recorder(clock, 1, "b")];
      for (const [i, node] of order.entries()) {
        const operation = { rule: { name: "r", counter: "c", limit: changed[i] }, key: "user:a", cost: 2 };
        await nodes[node].recorder.recorded(store).apply("take", [operation], { idempotencyKey: "x" });
        await clock.advance(1);
      }
      const report = await replayRecordings(nodes.map(({ lines }) => lines));
      expect(report).toMatchObject({ decisions: 2, reproduced: 2, differing: 0 });
    }
  });

  it("looks for the first of the calls with one answer once, however many there are", async () => {
    const clock = new ManualClock(1_767_225_600_000);
    const { recorder: node, lines } = recorder(clock);
    const recorded = node.recorded(new MemoryStore({ clock }));
    const operation = { rule: { name: "r", counter: "c", limit: slidingWindowLog("30/3s") }, key: "user:a", cost: 2 };
    for (let i = 0; i < 50; i += 1) await recorded.apply("take", [operation], { idempotencyKey: "x" });
    const apply = vi.spyOn(MemoryStore.prototype, "apply");
    onTestFinished(() => apply.mockRestore());
    expect(await replayRecordings([lines])).toMatchObject({ decisions: 50, reproduced: 50 });
    expect(apply.mock.calls.map(([action]) => action)).toEqual(["peek", ...new Array(50).fill("take")]);
  });

  it("reproduces everything that two nodes did on one store", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const clock = new ManualClock(1_767_225_600_000);
        const store = new MemoryStore({ clock });
        const nodes = [recorder(clock, 1, "a"), recorder(clock, 1, "b")];
        const stores = nodes.map(({ recorder }) => recorder.recorded(store));
        let calls = 0;
        for (const { afterMs, node, action, key, other, rules, cost, idempotencyKey, larger } of steps) {
          // The order of nodes that act at the same moment is unknown.
          await clock.advance(afterMs + 0.001);
          const operations = rules.map((i) => {
            const rule = { name: `r${i}`, counter: `c${i}`, limit: limits[i] };
            const own = larger && i === 0 ? { limit: tokenBucket("5/s", { burst: 9 }) } : {};
            return { rule, key: i === 2 && other !== undefined ? other : key, cost, ...own };
          });
          try {
            await stores[node].apply(action, operations, idempotencyKey === undefined ? undefined : { idempotencyKey });
            calls += operations.length;
          } catch {
            // The idempotency key was used for another request.
          }
        }
        const report = await replayRecordings(nodes.map(({ lines }) => lines));
        expect(report.differences).toEqual([]);
        expect(report).toMatchObject({ nodes: ["a", "b"], decisions: calls, reproduced: calls, differing: 0 });
      }),
      { numRuns: 60 },
    );
  });

  it("shows a decision that the store would not have made", async () => {
    const clock = new ManualClock(1_767_225_600_000);
    const { recorder: one, lines } = recorder(clock);
    const store = one.recorded(new MemoryStore({ clock }));
    const rule = { name: "r", limit: fixedWindow("2/m") };
    for (let i = 0; i < 3; i += 1) store.apply("take", [{ rule, key: "user:a", cost: 1 }]);
    const changed = lines.map((line) => line.replace("[[1,0,0,", "[[1,1,0,"));
    const report = await replayRecordings([changed]);
    expect(report).toMatchObject({ decisions: 3, reproduced: 2, differing: 1 });
    expect(report.differences[0]).toMatchObject({ rule: "r", recorded: { remaining: 1 }, replayed: { remaining: 0 } });
  });

  it("reports what it cannot compare: quota used before, and calls without an answer", async () => {
    const clock = new ManualClock(1_767_225_600_000);
    let isDown = false;
    class Failing extends StoreWrapper {
      override async apply(...args: Parameters<StoreWrapper["apply"]>) {
        const answers = await super.apply(...args);
        if (isDown) throw new StoreError("HG_STORE_TIMEOUT", "did not answer");
        return answers;
      }
    }
    const memory = new MemoryStore({ clock });
    const rule = { name: "r", limit: fixedWindow("9/m") };
    memory.apply("take", [{ rule, key: "user:a", cost: 1 }]);
    const { recorder: one, lines } = recorder(clock);
    const store = one.recorded(new Failing(memory));
    const take = async (key: string): Promise<unknown> => store.apply("take", [{ rule, key, cost: 1 }]);
    await take("user:a");
    await take("user:b");
    isDown = true;
    await expect(take("user:b")).rejects.toThrow("did not answer");
    isDown = false;
    await take("user:b");
    await take("user:a");
    expect(await replayRecordings([lines])).toMatchObject({
      decisions: 4,
      reproduced: 1,
      begunBefore: 2,
      uncertain: 1,
      differing: 0,
    });
  });

  it("knows counters again that were in use before it began, as soon as they have been idle long enough", async () => {
    const clock = new ManualClock(1_767_225_600_000);
    const memory = new MemoryStore({ clock });
    const short = { name: "short", limit: slidingWindowLog("5/2s") };
    const long = { name: "long", limit: tokenBucket("6/m") };
    const take = (store: Store, rules = [short, long]): unknown =>
      store.apply(
        "take",
        rules.map((rule) => ({ rule, key: "user:a", cost: 1 })),
      );
    for (let i = 0; i < 4; i += 1) take(memory);
    await clock.advance(2_000);
    const { recorder: one, lines } = recorder(clock);
    const store = one.recorded(memory);
    // The first two are admitted by both. Then the bucket is empty, which the replay does not know: it would charge "short".
    for (let i = 0; i < 4; i += 1) take(store);
    take(store, [short]);
    const busy = await replayRecordings([lines]);
    expect(busy).toMatchObject({ differing: 0, reproduced: 2 });
    expect(busy.begunBefore).toBe(busy.decisions - 2);
    await clock.advance(60_000);
    for (let i = 0; i < 8; i += 1) take(store);
    expect(await replayRecordings([lines])).toMatchObject({
      differing: 0,
      reproduced: busy.reproduced + 16,
      begunBefore: busy.begunBefore,
    });
  });

  it("knows a counter from the time of its own answers on, whatever the replay has admitted before", async () => {
    const clock = new ManualClock(1_767_225_600_000);
    const memory = new MemoryStore({ clock });
    const rule = { name: "r", limit: slidingWindowLog("5/2s") };
    const take = (store: Store, count: number): void => {
      for (let i = 0; i < count; i += 1) store.apply("take", [{ rule, key: "user:a", cost: 1 }]);
    };
    take(memory, 5);
    await clock.advance(1_900);
    const { recorder: one, lines } = recorder(clock);
    const store = one.recorded(memory);
    // All are denied, and admitted by the replay.
    take(store, 5);
    await clock.advance(500);
    take(store, 3);
    expect(await replayRecordings([lines])).toMatchObject({ begunBefore: 5, reproduced: 3, differing: 0 });
    const changed = lines.map((line) => line.replace("[[1,2,0,", "[[1,1,0,"));
    expect(await replayRecordings([changed])).toMatchObject({ begunBefore: 5, reproduced: 2, differing: 1 });
  });

  it("has all that some identities do and nothing of others, and no identifier", () => {
    const clock = new ManualClock(1_767_225_600_000);
    const { recorder: one, lines } = recorder(clock, 10);
    const store = one.recorded(new MemoryStore({ clock }));
    const rule = { name: "r", limit: fixedWindow("2/m") };
    for (let round = 0; round < 3; round += 1) {
      for (let i = 0; i < 500; i += 1) store.apply("take", [{ rule, key: `user:person-${i}`, cost: 1 }]);
    }
    const calls = lines.map(readEntry).filter((entry) => entry?.type === "call");
    const keys = new Set(calls.map(({ key }) => key));
    expect(keys.size).toBeGreaterThan(25);
    expect(keys.size).toBeLessThan(85);
    expect(calls).toHaveLength(3 * keys.size);
    expect(lines.join()).not.toContain("person");
  });

  it("reads what it writes", () => {
    const entries: readonly RecordingEntry[] = [
      { type: "header", version: 1, node: "n", oneIn: 7, time: 1 },
      { type: "header", version: 1, node: "n", oneIn: 7, time: 1, continues: { segment: 2, after: 3 } },
      { type: "header", version: 1, node: "n", oneIn: 7, time: 1, deletedUntil: 4 },
      {
        type: "header",
        version: 1,
        node: "n",
        oneIn: 7,
        time: 1,
        continues: { segment: 2, after: 3 },
        deletedUntil: 4,
      },
      { type: "limit", number: 0, rule: "r", counter: "c", limit: limits[0] },
      { type: "failure", time: 2, key: "k", code: "HG_STORE_TIMEOUT" },
      { type: "other", time: 3, key: "k", rule: "r", source: "cache", allowed: false, cost: 2 },
      { type: "other", time: 3, key: "k", rule: "r", source: "store", allowed: true, cost: 1, isCandidate: true },
      {
        type: "call",
        number: 4,
        time: 5,
        action: "take",
        key: "k",
        operations: [{ limit: 0, cost: 2 }],
        answers: [{ allowed: false, remaining: 0.1 + 0.2, retryAfter: null, resetAfter: 6 }],
        idempotency: { key: "i", rememberFor: 7 },
      },
      { type: "end", dropped: 8 },
    ];
    expect(entries.map((entry) => readEntry(entryLine(entry)))).toEqual(entries);
    expect(["", "{", "[]", '["c",1]', "null"].map(readEntry)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

/** The lines of the segments of a recording, by the names of their files. */
function segmentsOf(path: string, node: string): ReadonlyMap<string, readonly string[]> {
  const names = readdirSync(path)
    .filter((name) => name.startsWith(`${node}.`))
    .sort();
  return new Map(names.map((name) => [name, readFileSync(join(path, name), "utf8").trimEnd().split("\n")]));
}

describe("the segments of a recording", () => {
  const failure = (time: number): RecordingEntry => ({ type: "failure", time, key: "key", code: "HG_STORE_TIMEOUT" });
  const fail = (error: Error): void => expect.unreachable(error.message);

  it("keep the latest entries within the maximum size, and are readable for their owner only", async () => {
    const path = join(folder, "new");
    const file = await RecordingFile.create({ folder: path, node: "a", maxBytes: 16_000, onFailure: fail });
    file.add({ type: "header", version: 1, node: "a", oneIn: 1, time: 7 });
    for (let i = 0; i < 1_000; i += 1) file.add(failure(i));
    await file.close();
    const segments = segmentsOf(path, "a");
    expect(segments.size).toBe(8);
    const sizes = [...segments.keys()].map((name) => statSync(join(path, name)));
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(16_000);
    for (const { mode } of sizes) expect(mode & 0o777).toBe(0o600);
    const entries = [...segments.values()].map((lines) => lines.map(readEntry));
    // Nothing is missing from the first entry that is left.
    const times = entries.flat().flatMap((entry) => (entry?.type === "failure" ? [entry.time] : []));
    expect(times).toEqual(Array.from({ length: times.length }, (_, i) => 1_000 - times.length + i));
    expect(times.length).toBeGreaterThan(200);
    for (const [header, first, ...rest] of entries) {
      expect(header?.type === "header" && header.continues?.after).toBe(first?.type === "failure" && first.time - 1);
      expect(rest.at(-1)).toEqual({ type: "end", dropped: 0 });
    }
  });

  it("do not replace those of another process, and end when they cannot be written", async () => {
    const path = join(folder, "refused");
    const problems: string[] = [];
    const options = {
      folder: path,
      node: "a",
      maxBytes: 8_000,
      onFailure: (error: Error) => problems.push(error.message),
    };
    const file = await RecordingFile.create(options);
    await expect(RecordingFile.create(options)).rejects.toThrow("EEXIST");
    rmSync(path, { recursive: true });
    for (let i = 0; i < 1_000; i += 1) file.add(failure(i));
    await file.close();
    expect(problems).toEqual([expect.stringContaining("ENOENT")]);
  });

  it("are replayed from the time on from which no segment is missing", async () => {
    const path = join(folder, "replayed");
    const clock = new ManualClock(1_767_225_600_000);
    const store = new MemoryStore({ clock });
    // One node keeps more than the other.
    const files = await Promise.all(
      [64_000, 24_000].map((maxBytes, i) =>
        RecordingFile.create({ folder: join(path, `${i}`), node: `${i}`, maxBytes, onFailure: fail }),
      ),
    );
    const stores = files.map((file, i) => {
      const add = (entry: RecordingEntry): void => file.add(entry);
      return new Recorder({ node: `${i}`, oneIn: 1, secret: SECRET, add, now: () => clock.now() }).recorded(store);
    });
    const all: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      await clock.advance(13);
      const rule = { name: `r${i % 4}`, limit: limits[i % 4] };
      stores[i % 3 === 0 ? 0 : 1].apply("take", [{ rule, key: `user:${i % 7}`, cost: 1 }]);
      all.push(clock.now());
    }
    for (const file of files) await file.close();
    const segments = [...segmentsOf(join(path, "0"), "0").values(), ...segmentsOf(join(path, "1"), "1").values()];
    const kept = segments.flat().filter((line) => line.startsWith('["c"')).length;
    const { completeFrom = 0, ...report } = await replayRecordings(segments);
    expect(report).toMatchObject({ nodes: ["0", "1"], differing: 0, badLines: 0, dropped: 0 });
    expect(report.decisions).toBe(all.filter((time) => time > completeFrom).length);
    expect(report.incomplete).toBe(kept - report.decisions);
    expect(report.incomplete).toBeGreaterThan(50);
    expect(report.reproduced).toBeGreaterThan(100);
    // In any order, and all in one.
    const reversed = await replayRecordings([segments.toReversed().flat()]);
    expect(reversed).toMatchObject({ ...report, nodes: ["1", "0"], completeFrom });
    // Without one in the middle, only what follows on it is compared.
    const [, , third, ...rest] = segmentsOf(join(path, "0"), "0").values();
    const header = readEntry(third[0]);
    const gap = await replayRecordings([[...segmentsOf(join(path, "0"), "0").values()][0], third, ...rest]);
    expect(gap.completeFrom).toBe(header?.type === "header" && header.continues?.after);
  });
});
