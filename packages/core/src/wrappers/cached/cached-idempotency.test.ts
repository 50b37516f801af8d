import { expect, it } from "vitest";
import { ask, operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, MemoryStore } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 10_000 }));
const once = { idempotencyKey: "once" };

function setUp() {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new DistantStore(clock);
  return { clock, store, node: cached(store, { confirm: false, clock }) };
}

it("a request with an idempotency key goes to the store, after the requests admitted before it", async () => {
  const { store, node } = setUp();
  node.apply("take", [operation(ten, "k", 8)]);
  expect(await node.apply("take", [operation(ten, "k", 3)], once)).toMatchObject([
    { allowed: false, remaining: 2, source: "store" },
  ]);
  expect(store.calls).toMatchObject([
    { action: "penalize", cost: 8 },
    { action: "take", options: once },
  ]);
});

it("a request with an idempotency key is not denied from the cache: it may repeat one that was admitted", async () => {
  const { store, node } = setUp();
  for (let i = 0; i < 11; i += 1) node.apply("take", [operation(ten, "k")]);
  store.said();
  await node.apply("take", [operation(ten, "k")], once);
  expect(store.said()).toContain("take k 1");
});

it("the answer to a repeated request denies no other request, because it is old", async () => {
  const clock = new ManualClock(1_700_000_000_000);
  const node = cached(new MemoryStore({ clock }), { confirm: false, clock });
  await ask(node, "penalize", ten, "k", 10);
  await node.apply("take", [operation(ten, "k")], once);
  await clock.advance(10_000);
  expect(await node.apply("take", [operation(ten, "k")], once)).toMatchObject([
    { allowed: false, retryAfter: 10_000_000 },
  ]);
  expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true, remaining: 9 }]);
});

it("a penalty that is repeated under its idempotency key counts once", async () => {
  const clock = new ManualClock(1_700_000_000_000);
  const node = cached(new MemoryStore({ clock }), { confirm: false, clock });
  for (let i = 0; i < 3; i += 1) await node.apply("penalize", [operation(ten, "k", 4)], once);
  expect(await ask(node, "take", ten, "k", 6)).toMatchObject({ allowed: true });
});

it("a request with an idempotency key fails when the store fails", async () => {
  const { store, node } = setUp();
  store.fail(unreachable);
  await expect(node.apply("take", [operation(ten, "k")], once)).rejects.toBe(unreachable);
});

it("what else is asked hands its options on", async () => {
  const { store, node } = setUp();
  const options = { voidFrom: 2e15 };
  await node.apply("penalize", [operation(ten, "k")], options);
  expect(store.calls).toMatchObject([{ action: "penalize", options }]);
});
