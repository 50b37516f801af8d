import Bottleneck from "bottleneck";
import { Redis } from "ioredis";
import { KEY, LIMIT, type Place, type Subject, WINDOW_MS } from "../subject.ts";

/** Its reservoir in cluster mode. Bottleneck queues jobs; here it drops those that would have to wait. */
export async function open({ redisUrl }: Place): Promise<Subject> {
  const limiter = new Bottleneck({
    id: KEY,
    datastore: "ioredis",
    Redis,
    clientOptions: redisUrl,
    reservoir: LIMIT,
    reservoirRefreshAmount: LIMIT,
    reservoirRefreshInterval: WINDOW_MS,
    highWater: 0,
    strategy: Bottleneck.strategy.OVERFLOW,
  });
  limiter.on("error", () => {});
  await limiter.ready();
  return {
    async check() {
      try {
        await limiter.schedule(async () => {});
        return true;
      } catch (error) {
        if (error instanceof Bottleneck.BottleneckError && error.message.includes("dropped")) return false;
        throw error;
      }
    },
  };
}
