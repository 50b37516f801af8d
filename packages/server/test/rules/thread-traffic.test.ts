import { serialize } from "node:v8";
import type * as workers from "node:worker_threads";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";
import { parseAside, parseReplacementAside } from "../../src/rules/parse-in-worker.ts";
import { rulesText } from "../../src/rules/rules-file.ts";
import { parseReplacement } from "../../src/rules/rules-replacement.ts";
import { SqlitePlaces } from "../database/places.ts";

/** A message is copied in one go by the thread that serves requests, so its size bounds how long no request is served. */
const LARGEST_MESSAGE = 600 * 1024;

const { sizes } = vi.hoisted(() => ({ sizes: [] as number[] }));

vi.mock("node:worker_threads", async (original) => {
  const real = await original<typeof workers>();
  class MeasuredWorker extends real.Worker {
    constructor(file: string | URL, options: workers.WorkerOptions = {}) {
      super(file, options);
      sizes.push(sizeOf(options.workerData));
      this.on("message", (message) => sizes.push(sizeOf(message)));
    }

    override postMessage(message: unknown, transfer: readonly workers.TransferListItem[] = []): void {
      sizes.push(sizeOf(message));
      super.postMessage(message, transfer);
    }
  }
  return { ...real, Worker: MeasuredWorker };
});

function sizeOf(message: unknown): number {
  return message instanceof ArrayBuffer ? message.byteLength : serialize(message).length;
}

function replacement(count: number): string {
  const rules = Array.from({ length: count }, (_, i) => ({
    rule_id: `rule-${i}-${"x".repeat(100)}`,
    // Some bytes of each part belong to a character that began in the part before.
    name: `é🙂 ${i} ${"ü".repeat(100)}`,
    dimension: "user",
    endpoint_pattern: `/orders/${i}`,
    limit: 1 + i,
    window_seconds: 60,
  }));
  return JSON.stringify({ rules });
}

const places = new SqlitePlaces();
afterAll(() => places.remove());

beforeEach(() => {
  sizes.length = 0;
});

describe("messages to and from threads", () => {
  const text = replacement(5_000);

  it("are short while a replacement of rules is read", async () => {
    expect(await parseReplacementAside(Buffer.from(text))).toEqual(parseReplacement(text));
    expect(sizes.length).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThan(LARGEST_MESSAGE);
  });

  it("are short while a rules file is read", async () => {
    const rules = parseReplacement(text);
    expect(await parseAside(rulesText(rules), "rules.yaml")).toEqual(rules);
    expect(sizes.length).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThan(LARGEST_MESSAGE);
  });

  it("are short while the rules of a database are replaced", async () => {
    const rules = parseReplacement(text);
    const database = await openDatabase(places.next().options);
    try {
      const actor = { id: "test", name: "test" };
      const { created } = await database.rules.replace(rules, actor);
      expect(created).toEqual(rules.map(({ rule_id }) => rule_id));
      const { updated, removed, unchanged } = await database.rules.replace(
        rules.slice(1_000).map((rule, i) => (i < 600 ? { ...rule, limit: 7 } : rule)),
        actor,
      );
      expect([updated.length, removed.length, unchanged]).toEqual([600, 1_000, 3_400]);
      expect(updated[0]).toBe(rules[1_000].rule_id);
    } finally {
      await database.close();
    }
    expect(sizes.length).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThan(LARGEST_MESSAGE);
  });
});
