import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { startEnsemble, type ZooKeeperEnsemble } from "headgate-testkit/zookeeper-ensemble";
import type { ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ZooKeeperStore } from "../../../src/zookeeper.ts";
import { charged, counts, type Ended, Traffic, take } from "../redis/faults/calls.ts";

const TIMEOUT_MS = 500;
let ensemble: ZooKeeperEnsemble;
let store: ZooKeeperStore;
let roots = 0;

beforeAll(async () => {
  ensemble = await startEnsemble();
});
afterAll(() => ensemble?.stop());
beforeEach(async () => {
  roots += 1;
  store = new ZooKeeperStore(ensemble.addresses, { root: `/test${roots}`, timeoutMs: TIMEOUT_MS, purgeEveryMs: 0 });
  await store.ready();
});
afterEach(() => store?.close());

/** The server that the store is connected to. */
async function own(): Promise<ZooKeeperServer> {
  for (const server of ensemble.servers) if ((await server.connections().catch(() => 0)) > 0) return server;
  throw new Error("the store is connected to nobody");
}

/** Traffic before, during and after a fault; what was charged fits what was answered. */
async function survives(fault: () => Promise<void>, mend: () => Promise<void>): Promise<Ended[]> {
  const traffic = new Traffic(store, ["a", "b"]);
  await eventually("there is traffic", async () => (await charged(store, "b")) > 20);
  await fault();
  await delay(200);
  await eventually(
    "calls are answered without what is gone",
    async () => (await take(store, "after")).as === "allowed",
  );
  await mend();
  await ensemble.settled();
  await eventually("calls are answered", async () => (await take(store, "after")).as === "allowed");
  const calls = await traffic.stop();
  const { allowed, HG_STORE_TIMEOUT: late = 0, HG_STORE_UNREACHABLE: lost = 0, ...others } = counts(calls);
  expect(others).toEqual({});
  let used = 0;
  // On a busy machine, the ensemble can still lose the store's session now.
  await eventually("the counters can be read", async () => {
    used = (await charged(store, "a")) + (await charged(store, "b"));
    return true;
  });
  expect(used).toBeGreaterThanOrEqual(allowed);
  // A call that ended at its deadline is void; the reply to one that was under way may have been lost.
  expect(used).toBeLessThanOrEqual(allowed + lost);
  expect(late + lost).toBeGreaterThan(0);
  expect(Math.max(...calls.map(({ took }) => took))).toBeLessThan(TIMEOUT_MS + 700);
  return calls;
}

describe("an ensemble of three, under traffic", () => {
  it("keeps working when its leader is killed", async () => {
    const leader = await ensemble.leader();
    await survives(
      () => leader.kill(),
      () => leader.start(),
    );
  });

  it("keeps working when its leader is frozen, and when it resumes", async () => {
    const leader = await ensemble.leader();
    await survives(
      () => leader.pause(),
      async () => leader.resume(),
    );
  });

  it("keeps working when the server that the store is connected to is frozen: it connects to another", async () => {
    const frozen = await own();
    await survives(
      () => frozen.pause(),
      async () => {
        expect(await own()).not.toBe(frozen);
        frozen.resume();
      },
    );
  });
});
