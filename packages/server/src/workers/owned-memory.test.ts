import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, concurrency, gcra, MemoryStore, type Operation, type Rule, tokenBucket } from "headgate";
import { ManualClock } from "headgate/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OwnedMemory } from "./owned-memory.ts";
import { WorkerMesh } from "./worker-mesh.ts";
import { ownerOf } from "./worker-place.ts";

const RULE: Rule = { name: "orders", limit: tokenBucket("5/h") };

let folder: string;
let meshes: WorkerMesh[];
let stores: OwnedMemory[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "headgate-mesh-"));
  meshes = await Promise.all([0, 1].map((index) => WorkerMesh.open({ index, count: 2, folder })));
  stores = meshes.map((mesh) => {
    const memory = new MemoryStore();
    mesh.duties.store = memory;
    return new OwnedMemory(memory, mesh, { onDegraded: () => {} });
  });
  await Promise.all(meshes.map((mesh) => mesh.ready()));
});

afterEach(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  rmSync(folder, { recursive: true });
});

function operation(key: string, more: Partial<Operation> = {}): Operation {
  return { rule: RULE, key, cost: 1, ...more };
}

function keyOf(worker: number): string {
  for (let i = 0; ; i += 1) if (ownerOf(`k${i}`, 2) === worker) return `k${i}`;
}

it("gives the answers of one store, whichever worker is asked", async () => {
  for (const key of [keyOf(0), keyOf(1)]) {
    const answers: Answer[] = [];
    for (let i = 0; i < 7; i += 1) answers.push((await stores[i % 2].apply("take", [operation(key)]))[0]);
    expect(answers.map(({ allowed, remaining }) => [allowed, Math.floor(remaining)])).toEqual([
      [true, 4],
      [true, 3],
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ]);
  }
});

it("passes on the limit of a call, several operations, actions and options", async () => {
  const key = keyOf(1);
  const [here] = stores;
  const limit = tokenBucket("2/h");
  const other: Rule = { name: "other", counter: "shared", limit: gcra("9/h") };
  const asked = [operation(key, { limit }), operation(key, { rule: other, cost: 3 })];
  const taken = await here.apply("take", asked, { idempotencyKey: "once" });
  expect(taken.map(({ remaining }) => Math.floor(remaining))).toEqual([1, 6]);
  expect(await here.apply("take", asked, { idempotencyKey: "once" })).toEqual(taken);
  const never = await here.apply("peek", [operation(key, { cost: 6 })]);
  expect(never[0]).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY, source: "store" });
  await expect(here.apply("take", [operation(key)], { idempotencyKey: "once" })).rejects.toMatchObject({
    code: "HG_IDEMPOTENCY_CONFLICT",
  });
  await here.apply("reset", asked);
  expect((await here.apply("peek", asked)).map(({ remaining }) => remaining)).toEqual([2, 9]);
});

it("carries out the calls of a turn in their order, with and without options", async () => {
  const key = keyOf(1);
  const [here] = stores;
  const answers = await Promise.all([
    here.apply("take", [operation(key, { cost: 3 })]),
    here.apply("take", [operation(key)], { idempotencyKey: "once" }),
    here.apply("reset", [operation(key)]),
    here.apply("take", [operation(key, { cost: 2 }), operation(key, { rule: { ...RULE, name: "other" } })]),
    here.apply("peek", [operation(key)], { context: "only looks" }),
  ]);
  expect(answers.map((each) => each.map(({ remaining }) => Math.floor(remaining)))).toEqual([
    [2],
    [1],
    [5],
    [3, 4],
    [3],
  ]);
});

it("passes on the holders of slots, and how many are in use", async () => {
  const rule: Rule = { name: "tasks", limit: concurrency(2) };
  const slots = (key: string, id: string): Operation => ({ rule, key, cost: 1, slot: { id, forUs: 60_000_000 } });
  for (const key of [keyOf(0), keyOf(1)]) {
    const units = operation(key);
    expect(await stores[0].apply("take", [slots(key, "a"), units])).toMatchObject([{ allowed: true, inUse: 1 }, {}]);
    expect(await stores[1].apply("take", [slots(key, "b")])).toMatchObject([{ allowed: true, inUse: 2 }]);
    for (const store of stores) {
      const [denied] = await store.apply("take", [slots(key, "c"), units]);
      expect(denied).toMatchObject({ allowed: false, inUse: 2, remaining: 0, retryIsUpperBound: true });
      expect(denied.retryAfter).toBeLessThanOrEqual(60_000_000);
    }
    expect((await stores[0].apply("peek", [units]))[0]).not.toHaveProperty("inUse");
  }
  const all = [keyOf(0), keyOf(1)].flatMap((key) => ["a", "b", "lost"].map((id) => slots(key, id)));
  for (const store of stores) {
    expect((await store.apply("extend", all)).map(({ allowed }) => allowed)).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
  }
  for (const each of all) await stores[0].apply("release", [each]);
  for (const key of [keyOf(0), keyOf(1)]) {
    expect(await stores[1].apply("take", [slots(key, "a")])).toMatchObject([{ allowed: false, inUse: 0 }]);
    expect(await stores[1].apply("take", [slots(key, "d")])).toMatchObject([{ allowed: true, inUse: 1 }]);
  }
});

it("keeps deadlines when the clocks of the workers differ", async () => {
  const clocks = [new ManualClock(60_000), new ManualClock()];
  const apart = meshes.map((mesh, i) => {
    const memory = new MemoryStore({ clock: clocks[i] });
    mesh.duties.store = memory;
    return new OwnedMemory(memory, mesh, { onDegraded: () => {} });
  });
  for (const [i, store] of apart.entries()) {
    const [answer] = await store.apply("take", [operation(keyOf(1 - i))]);
    expect(answer).toMatchObject({ allowed: true, degraded: false });
    const late = store.apply("take", [operation(keyOf(1 - i))], { voidFrom: clocks[i].now(), storeOnly: true });
    await expect(late).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
  }
});

it("lets on_error decide for the keys of a worker that is gone, and asks it again when it is back", async () => {
  const [here] = stores;
  const [own, lost] = [keyOf(0), keyOf(1)].map((key) => operation(key, { rule: { ...RULE, onError: "deny" } }));
  await meshes[1].close();
  expect((await here.apply("take", [lost]))[0]).toMatchObject({ allowed: false, degraded: true, source: "fallback" });
  expect((await here.apply("take", [own]))[0]).toMatchObject({ allowed: true, degraded: false });
  meshes[1] = await WorkerMesh.open({ index: 1, count: 2, folder });
  meshes[1].duties.store = new MemoryStore();
  expect((await here.apply("take", [lost]))[0]).toMatchObject({ allowed: true, degraded: false });
});
