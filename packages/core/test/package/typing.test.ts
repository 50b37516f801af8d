import { root } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, it } from "vitest";
import { Consumer } from "./consumer.ts";

/** A program in strict TypeScript; each @ts-expect-error is a test that the types are not just `any`. */
const body = `
const rules = { api: tokenBucket("100/m", { burst: 20 }), login: slidingWindow("5/m"), mail: leakyBucket("2/s") };
const limiter = rateLimiter(rules, { maxKeys: 1000 });
const decision: Decision<"api"> = limiter.checkSync("api", "k", { cost: 3 });
const wait: number = decision.retryAfterMs;
const sentence: string = String(decision.explain());
export async function run(signal: AbortSignal): Promise<number> {
  const verdict = await limiter.checkAll([{ rule: "api", key: "k" }, { rule: "login", key: "k" }]);
  const deniedBy: readonly ("api" | "login")[] = verdict.deniedBy;
  const scheduled = await limiter.schedule("mail", "k", () => 42, { signal, maxWaitMs: 10 });
  return scheduled.ran ? scheduled.value : deniedBy.length + wait + sentence.length;
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
const code: HeadgateError["code"] = "HG_BAD_COST";
export const wrong = new HeadgateError(code, "cost", "is wrong").field satisfies string;
`;

/** Options that may be undefined, as those that a program has read itself are. */
const undefinedBody = `
export function maybe<Value>(value: Value): Value | undefined { return Math.random() < 2 ? undefined : value; }
const options = { maxKeys: maybe(5), maxIdempotencyKeys: maybe(5), clock: maybe(new ManualClock()), sweep: maybe(true) };
const limiter = rateLimiter(
  {
    api: tokenBucket("1/m", { burst: maybe(5) }),
    day: fixedWindow("1/d", { anchor: maybe("request" as const) }),
    log: bucketedWindow("1/m", { bucketWidthMs: maybe(5), exact: maybe(true) }),
    mail: leakyBucket("1/m"),
  },
  { ...options, onDecision: maybe(() => {}) },
);
export async function run(signal?: AbortSignal): Promise<void> {
  limiter.checkSync("api", "k", { cost: maybe(1), idempotencyKey: maybe("x") });
  await limiter.checkAll([{ rule: "api", key: "k", cost: maybe(1) }], { idempotencyKey: maybe("x") });
  await limiter.wait("api", "k", { cost: maybe(1), signal, maxWaitMs: maybe(5) });
  await limiter.schedule("mail", "k", () => 1, { signal, whenFull: maybe("drop" as const) });
}
export const store = new MemoryStore(options);
export const shared = rateLimiter({ api: tokenBucket("1/m") }, { store: resilient(new RedisStore("redis://127.0.0.1:6379", {
  maxBatch: maybe(1), prefix: maybe("x"),
}), { onError: maybe("deny" as const), deadlineMs: maybe(5), nodes: maybe(2) }), clock: maybe(new ManualClock()) });
export const written = cached(store, { flushMs: maybe(5), read: maybe(true) });
export const middleware = rateLimit(limiter, {
  rules: { rule: "api", by: maybe("ip" as const), cost: maybe(1), reserve: maybe(2) },
  by: maybe("ip" as const), cost: maybe(1), skip: maybe(() => false), headers: maybe(false as const), warn: maybe(false as const),
  refundOn: maybe("5xx" as const), onStoreFailure: maybe("deny" as const), onNotice: maybe(() => {}),
  proxies: maybe(1), ipv6Prefix: maybe(64), onDenied: maybe(() => {}),
});
export const compatible = compat({ limit: maybe(5), windowMs: maybe(5), keyGenerator: maybe(() => "k") });
// @ts-expect-error Still no number.
limiter.checkSync("api", "k", { cost: maybe("1") });
`;

const undefinedImports = `import { bucketedWindow, cached, fixedWindow, leakyBucket, MemoryStore, rateLimiter, resilient, tokenBucket } from "headgate";
import { rateLimit } from "headgate/express";
import { rateLimit as compat } from "headgate/express-rate-limit";
import { RedisStore } from "headgate/redis";
import { ManualClock } from "headgate/testing";
`;

const names = `{ type Decision, gcra, HeadgateError, type Limit, leakyBucket, type Limiter, limitFromSpec,
  MemoryStore, rateLimiter, slidingWindow, type Store, tokenBucket }`;

const consumer = new Consumer();

beforeAll(async () => {
  await consumer.install("ioredis", "express", "@types/express");
  consumer.write("undefined.mts", undefinedImports + undefinedBody);
  const imports = `import ${names} from "headgate";\nimport { ManualClock, testLimiter } from "headgate/testing";\nimport { RedisStore, redisOptions } from "headgate/redis";\n`;
  for (const file of ["consumer.mts", "consumer.cts"]) consumer.write(file, imports + body);
}, 60_000);

afterAll(() => {
  consumer.remove();
});

describe("the types of the packed library", () => {
  it.each([
    { module: "nodenext", file: "consumer.mts", exact: true },
    { module: "nodenext", file: "consumer.cts", exact: false },
    { module: "node20", file: "consumer.cts", exact: false },
    { module: "preserve", file: "consumer.mts", exact: false },
    { module: "nodenext", file: "undefined.mts", exact: true },
    { module: "nodenext", file: "undefined.mts", exact: false },
  ])(
    "hold in strict mode: $file with module $module, exactOptionalPropertyTypes $exact",
    {
      timeout: 60_000,
    },
    async ({ module, file, exact }) => {
      consumer.write(
        "tsconfig.json",
        JSON.stringify({
          compilerOptions: {
            module,
            target: "es2022",
            strict: true,
            exactOptionalPropertyTypes: exact,
            noEmit: true,
            // Our declarations are part of what is tested: they are not skipped, but where those of Node would fail, too.
            skipLibCheck: exact,
            typeRoots: [`${root}/node_modules/@types`],
            types: ["node"],
          },
          files: [file],
        }),
      );
      await consumer.run(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, "-p", "."]);
    },
  );
});
