import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  fixedWindow,
  gcra,
  type Limit,
  MemoryStore,
  StoreError,
  StoreWrapper,
  slidingWindowLog,
  tokenBucket,
} from "headgate";
import { ManualClock } from "headgate/testing";
import { afterAll, describe, expect, it } from "vitest";
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
  it("reproduces everything that two nodes did on one store", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const clock = new ManualClock(1_767_225_600_000);
        const store = new MemoryStore({ clock });
        const nodes = [recorder(clock, 1, "a"), recorder(clock, 1, "b")];
        const stores = nodes.map(({ recorder }) => recorder.recorded(store));
        let calls = 0;
        for (const { afterMs, node, action, key, other, rules, cost, idempotencyKey, larger } of steps) {
          // Nodes that act in the same moment act in an order that nobody knows.
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

  it("tells what it cannot compare: quota used before, and calls without an answer", async () => {
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

describe("the file of a recording", () => {
  it("ends at its maximum size, counts what is missing, and is readable for its owner only", async () => {
    const path = join(folder, "new", "full.jsonl");
    let full = 0;
    const file = await RecordingFile.create(path, 1_000, () => {
      full += 1;
    });
    for (let i = 0; i < 100; i += 1) file.add({ type: "failure", time: i, key: "key", code: "HG_STORE_TIMEOUT" });
    await file.close();
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(Buffer.byteLength(lines.join("\n"))).toBeLessThanOrEqual(1_000);
    expect(full).toBe(1);
    expect(readEntry(lines.at(-1) ?? "")).toEqual({ type: "end", dropped: 100 - (lines.length - 1) });
    await expect(RecordingFile.create(path, 1_000, () => {})).rejects.toThrow("EEXIST");
  });
});
