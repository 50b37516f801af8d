import { expect, it } from "vitest";
import { useRedis } from "../../redis/redis.ts";
import { expectNoneOver, sleep, windowWithRoom } from "./admissions.ts";
import { useNodes } from "./node-process.ts";

const LIMIT = 1_000;
const WINDOW_MS = 4_000;

const redis = useRedis();
const start = useNodes();

it("a pool that is deleted by hand starts anew, what is held stays good, and the next window is whole", async () => {
  const prefix = redis.newPrefix();
  const nodes = await start(
    {
      server: { redis: redis.server.url },
      limit: LIMIT,
      windowMs: WINDOW_MS,
      options: { base: 100 },
      store: { prefix },
    },
    2,
  );
  const window = await windowWithRoom(WINDOW_MS, 3_500);
  const before = await Promise.all(nodes.map((node) => node.take({ times: 150 })));
  const held = (await Promise.all(nodes.map((node) => node.leases()))).flat().map((lease) => lease?.held ?? 0);
  expect(Math.min(...held)).toBeGreaterThan(0);
  expect(await redis.server.ask("DEL", `${prefix}:{hot}:api:fixed_window`)).toBe("1");
  const after = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })));
  for (const { errors } of after) expect(errors).toEqual({});
  // What was granted before is forgotten there, and all of it has been spent.
  const admitted = expectNoneOver([...before, ...after], LIMIT + 300 + held[0] + held[1]);
  expect(admitted.get(window)).toBe(LIMIT + 300 + held[0] + held[1]);
  await sleep(WINDOW_MS - (Date.now() % WINDOW_MS) + 20);
  const next = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })));
  expect([...expectNoneOver(next, LIMIT).values()]).toEqual([LIMIT]);
});
