import { cached, fixedWindow, leased, rateLimiter, resilient, type Store } from "headgate";
import { RedisStore, split } from "headgate/redis";
import { KEY, LIMIT, type Place, type Subject, WINDOW_MS } from "../subject.ts";

/** How each variant is put together, as its page in docs/stores recommends. */
const variants: Readonly<Record<string, (redis: RedisStore, place: Place) => Store | Promise<Store>>> = {
  strict: (redis) => redis,
  resilient: (redis, { processes: nodes }) => resilient(redis, { nodes }),
  cached: (redis, { processes: nodes }) => cached(resilient(redis, { nodes })),
  leased: (redis, { processes: nodes }) => leased(resilient(redis, { nodes })),
  split: (redis, { processes }) => joined(redis, processes),
};

export async function open(variant: string, place: Place): Promise<Subject> {
  const redis = new RedisStore(place.redisUrl);
  await redis.ready();
  const store = await variants[variant](redis, place);
  const limiter = rateLimiter({ api: fixedWindow({ limit: LIMIT, windowMs: WINDOW_MS }) }, { store });
  return { check: async () => (await limiter.check("api", KEY)).allowed };
}

/** Splits the limit, once all processes are there. */
async function joined(redis: RedisStore, processes: number): Promise<Store> {
  const shares = split(redis, { group: "accuracy" });
  await shares.ready();
  while (shares.stats.replicas < processes) await new Promise((resolve) => setTimeout(resolve, 50));
  return resilient(shares, { onError: "deny" });
}
