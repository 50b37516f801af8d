import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixedWindow, MemoryStore } from "headgate";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RecordedRequests } from "../../../src/recorder/recorded-requests.ts";
import { Recorder } from "../../../src/recorder/recorder.ts";
import { entryLine } from "../../../src/recorder/recording-entry.ts";
import { ruleOf, type Service, startService } from "./service.ts";

const ADDRESSES = Array.from({ length: 40 }, (_, i) => `2001:db8:0:${i.toString(16)}::1`);

const folder = mkdtempSync(join(tmpdir(), "headgate-recording-route-"));
const lines: string[] = [];
const recorder = new Recorder({
  node: "a",
  oneIn: 2,
  secret: "a secret of the tests",
  add: (entry) => void lines.push(entryLine(entry)),
  now: () => Date.now() * 1000,
});
let service: Service;

beforeAll(async () => {
  const store = recorder.recorded(new MemoryStore());
  const rule = { name: "byip", counter: "60:/**", limit: fixedWindow("100/m") };
  // As checks spell an address: its network.
  for (let i = 0; i < 40; i += 1) store.apply("take", [{ rule, key: `ip:2001:db8:0:${i.toString(16)}::/64`, cost: 1 }]);
  writeFileSync(join(folder, "a.jsonl"), lines.join(""));
  service = await startService({
    rules: [ruleOf({ rule_id: "byip", dimension: "ip", endpoint_pattern: "/**" })],
    parts: () => ({
      recording: { requests: new RecordedRequests(folder), oneIn: 2, nameOf: (key) => recorder.nameOf(key) },
    }),
  });
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const route = (query = ""): ReturnType<Service["ask"]> => service.ask("GET", `/api/v1/rules/byip/recording${query}`);

it("lists the recorded requests of one identity, and says if it is not recorded", async () => {
  const { body: all } = await route();
  expect(all.recorded).toBeUndefined();
  const keys = new Set<string>();
  for (const address of ADDRESSES) {
    const { status, body } = await route(`?identifier=${address.toUpperCase()}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ recording: true, one_in: 2, now_ms: expect.any(Number) });
    expect(body.requests).toHaveLength(body.recorded ? 1 : 0);
    for (const { key, remaining } of body.requests) {
      expect(remaining).toBe(99);
      keys.add(key);
    }
  }
  expect(keys.size).toBe(all.requests.length);
  expect(keys.size).toBeGreaterThan(0);
  expect(keys.size).toBeLessThan(ADDRESSES.length);
  const { body: unused } = await route("?identifier=192.0.2.1");
  expect(unused.requests).toEqual([]);
});

it("refuses an identifier that is none of the rule's dimension", async () => {
  const { status, body } = await route("?identifier=ann");
  expect([status, body.code]).toEqual([400, "validation_failed"]);
});
