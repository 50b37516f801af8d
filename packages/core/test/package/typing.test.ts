import { afterAll, beforeAll, describe, it } from "vitest";
import { Consumer } from "./consumer.ts";
import { repository } from "./workspaces.ts";

/** A program in strict TypeScript; each @ts-expect-error is a test that the types are not just `any`. */
const body = `
const rules = { api: tokenBucket("100/m", { burst: 20 }), login: slidingWindow("5/m"), mail: leakyBucket("2/s") };
const limiter = rateLimiter(rules, { maxKeys: 1000 });
const decision: Decision<"api"> = limiter.checkSync("api", "k", { cost: 3 });
const wait: number = decision.retryAfterMs;
const sentence: string = String(decision.explain());
export async function run(signal: AbortSignal): Promise<number> {
  const verdict = await limiter.checkAll([{ rule: "api", key: "k" }, { rule: "login", key: "k" }]);
  const violated: readonly ("api" | "login")[] = verdict.violated;
  const scheduled = await limiter.schedule("mail", "k", () => 42, { signal, maxWaitMs: 10 });
  return scheduled.ran ? scheduled.value : violated.length + wait + sentence.length;
}
// @ts-expect-error There is no such rule.
limiter.checkSync("apy", "k");
// @ts-expect-error That is not a leaky bucket.
void limiter.schedule("api", "k", () => 1);
// @ts-expect-error A rate is not yet a limit.
rateLimiter({ api: "100/m" });
const read: Limit = limitFromSpec({ capacity: 5, refill_rate: 1 });
const store: Store = new MemoryStore({ clock: new ManualClock() });
const shared: Limiter<{ api: Limit }> = rateLimiter({ api: read }, { store });
// @ts-expect-error Over another store there is no twin without a promise.
shared.checkSync("api", "k");
const overRedis: Limiter<{ api: Limit }> = rateLimiter({ api: read }, { store: new RedisStore("redis://127.0.0.1:6379", { maxBatch: 32 }) });
// @ts-expect-error There is no such option.
void new RedisStore("redis://127.0.0.1:6379", { batch: 32 });
export const offline: false = redisOptions.enableOfflineQueue;
void overRedis;
export const { limiter: tested, clock } = testLimiter({ api: gcra("1/s") });
const code: ErrorCode = "HG_BAD_COST";
export const wrong = new HeadgateError(code, "cost", "is wrong").field satisfies string;
`;

const names = `{ type Decision, type ErrorCode, gcra, HeadgateError, type Limit, leakyBucket, type Limiter, limitFromSpec,
  MemoryStore, rateLimiter, slidingWindow, type Store, tokenBucket }`;

const consumer = new Consumer();

beforeAll(async () => {
  await consumer.install("ioredis");
  const imports = `import ${names} from "headgate";\nimport { ManualClock, testLimiter } from "headgate/testing";\nimport { RedisStore, redisOptions } from "headgate/redis";\n`;
  for (const file of ["consumer.mts", "consumer.cts"]) consumer.write(file, imports + body);
}, 60_000);

afterAll(() => {
  consumer.remove();
});

describe("the types of the packed library", () => {
  it.each([
    { module: "nodenext", file: "consumer.mts" },
    { module: "nodenext", file: "consumer.cts" },
    { module: "node20", file: "consumer.cts" },
    { module: "preserve", file: "consumer.mts" },
  ])("hold in strict mode: $file with module $module", { timeout: 60_000 }, async ({ module, file }) => {
    consumer.write(
      "tsconfig.json",
      JSON.stringify({
        compilerOptions: {
          module,
          target: "es2022",
          strict: true,
          noEmit: true,
          // Our declarations are part of what is tested; a consumer may not skip them.
          skipLibCheck: false,
          typeRoots: [`${repository}/node_modules/@types`],
          types: ["node"],
        },
        files: [file],
      }),
    );
    await consumer.run(process.execPath, [`${repository}/node_modules/typescript/bin/tsc`, "-p", "."]);
  });
});
