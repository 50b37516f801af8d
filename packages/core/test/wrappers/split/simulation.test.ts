import fc from "fast-check";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedWindow, gcra } from "../../../src/algorithms/registry.ts";
import { BEAT, type Fault, LEASE, sums, World } from "./world.ts";

const limits = [...[1, 2, 3, 5, 7, 12, 100].map((limit) => fixedWindow(`${limit}/h`)), gcra("100/h", { burst: 11 })];
const wholes = limits.map(({ burst }) => burst);

const MOST_REPLICAS = 6;
/** After this long without trouble, everything is shared out: a lease to miss the dead, one to trust the record, some beats. */
const QUIET = 2 * 1.1 * LEASE + 4 * BEAT;

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const who = fc.nat({ max: MOST_REPLICAS - 1 });
const faults: Fault[] = ["request lost", "reply lost", "request held", "reply held"];
const event = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.integer({ min: 1, max: 2 * BEAT }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.integer({ min: LEASE, max: 3 * LEASE }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("join"), percent: fc.integer({ min: -4, max: 4 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("fault"),
      who,
      fault: fc.constantFrom(...faults),
      times: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release"), who, index: fc.nat({ max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("leave", "crash", "pause", "resume"), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("flush") }) },
  // Steps that are shorter than half a lease are not noticed; see docs/stores/split.md.
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("clock"), by: fc.integer({ min: LEASE / 2 + 1, max: 20 * LEASE }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clock"), by: fc.integer({ min: -20 * LEASE, max: -1 }) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

async function happen(world: World, event: Event): Promise<void> {
  if ("ms" in event) return world.pass(event.ms);
  if ("by" in event) {
    world.serverMs += event.by;
    return;
  }
  if ("percent" in event) {
    if (world.replicas.length < MOST_REPLICAS) await world.join(1 + event.percent / 100);
    return;
  }
  if (!("who" in event)) {
    await world.redis.flushall();
    return;
  }
  const replica = world.replicas[event.who % Math.max(1, world.replicas.length)];
  if (replica === undefined) return;
  if ("fault" in event) replica.link.faults.push(...Array<Fault>(event.times).fill(event.fault));
  else if ("index" in event) await world.release(replica, event.index);
  else if (event.kind === "leave") await world.leave(replica);
  else if (event.kind === "crash") world.crash(replica);
  else if (event.kind === "pause") replica.paused = true;
  else await world.resume(replica);
}

async function calmDown(world: World): Promise<void> {
  for (const replica of world.replicas) {
    replica.link.faults.length = 0;
    await world.resume(replica);
    while (replica.link.held.length > 0) await world.release(replica);
  }
}

describe("replicas that join, leave, crash, freeze and lose messages, on a server that loses data", () => {
  it("never enforce more than the limit together, and exactly the limit when all is quiet", async () => {
    let group = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 4 }), fc.array(event, { minLength: 10, maxLength: 60 }), async (first, events) => {
        group += 1;
        const world = new World(redis, `group ${group}`, ({ replicas }) => {
          const running = replicas.filter(({ paused }) => !paused);
          for (const [i, sum] of sums(running, limits).entries()) expect(sum).toBeLessThanOrEqual(wholes[i]);
        });
        for (let i = 0; i < first; i += 1) await happen(world, { kind: "join", percent: i - 2 });
        await world.pass(QUIET);
        for (const event of events) await happen(world, event);
        await calmDown(world);
        if (world.replicas.length === 0) await world.join();
        await world.pass(QUIET);
        expect(sums(world.replicas, limits)).toEqual(wholes);
        for (const replica of [...world.replicas]) await world.leave(replica);
      }),
      { numRuns: 60 },
    );
  });
});
