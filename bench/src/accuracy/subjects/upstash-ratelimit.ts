import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { KEY, LIMIT, type Place, type Subject, WINDOW_MS } from "../subject.ts";

/** As in its README, with a fixed window as for the others. */
export async function open({ gatewayUrl }: Place): Promise<Subject> {
  const ratelimit = new Ratelimit({
    redis: new Redis({ url: gatewayUrl, token: "none" }),
    limiter: Ratelimit.fixedWindow(LIMIT, `${WINDOW_MS} ms`),
  });
  return { check: async () => (await ratelimit.limit(KEY)).success };
}
