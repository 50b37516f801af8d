import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { startGateway } from "./gateway.ts";
import type { Task } from "./orders.ts";
import { Team } from "./team.ts";

/** Starts a Redis and processes that share a limit in it, and stops them after the measurement. */
export async function withTeam<Result>(
  subject: string,
  processes: number,
  task: Task,
  measure: (team: Team, redis: RedisServer) => Promise<Result>,
): Promise<Result> {
  const redis = await startRedis();
  const gateway = await startGateway(redis.url);
  const place = { redisUrl: redis.url, gatewayUrl: gateway.url, processes };
  const team = new Team(Array.from({ length: processes }, () => ({ subject, place, ...task })));
  try {
    await team.ready();
    return await measure(team, redis);
  } finally {
    team.stop();
    gateway.close();
    await redis.stop();
  }
}
