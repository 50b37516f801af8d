import { describe, expectTypeOf, it } from "vitest";
import {
  type Decision,
  gcra,
  type Limit,
  type Limiter,
  leakyBucket,
  limitFromSpec,
  type MemoryLimiter,
  MemoryStore,
  rateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
  type Verdict,
} from "../index.ts";
import type { Scheduled } from "../limiter/schedule.ts";
import { testLimiter } from "../testing/index.ts";

const rules = { api: tokenBucket("100/m", { burst: 20 }), login: slidingWindow("5/m"), mail: leakyBucket("2/s") };
const limiter = rateLimiter(rules);
declare const store: Store;

// Nothing in here runs: it is the compiler that tests it.
describe("the types of a limiter", () => {
  it("know the names of its rules", () => {
    const typed = (): void => {
      expectTypeOf(limiter.checkSync("api", "k")).toEqualTypeOf<Decision<"api">>();
      expectTypeOf(limiter.check("login", "k")).resolves.toEqualTypeOf<Decision<"login">>();
      expectTypeOf(limiter.checkSync("api", "k").rule).toEqualTypeOf<"api">();
      expectTypeOf(limiter.checkSync("api", "k").deniedBy).toEqualTypeOf<readonly "api"[]>();
      // @ts-expect-error There is no such rule.
      limiter.checkSync("apy", "k");
      // @ts-expect-error There is no such rule.
      void limiter.check("Login", "k");
      // @ts-expect-error There is no such rule.
      void limiter.checkAll([{ rule: "apy", key: "k" }]);
      // @ts-expect-error There is no such rule.
      void limiter.firstOf([{ rule: "apy", key: "k" }]);
      // @ts-expect-error There is no such rule.
      limiter.checkManySync([{ rule: "apy", key: "k" }]);
      // @ts-expect-error There is no such rule.
      void limiter.wait("apy", "k");
      // @ts-expect-error There is no such rule.
      limiter.setLimit("apy", gcra("1/s"));
    };
    void typed;
  });

  it("name in a verdict the rules that were asked for", () => {
    const typed = (): void => {
      const verdict = limiter.checkAllSync([
        { rule: "api", key: "k" },
        { rule: "login", key: "k" },
      ]);
      expectTypeOf(verdict).toEqualTypeOf<Verdict<"api" | "login">>();
      expectTypeOf(verdict.deniedBy).toEqualTypeOf<readonly ("api" | "login")[]>();
      const decision = limiter.firstOfSync([
        { rule: "api", key: "k" },
        { rule: "login", key: "k" },
      ]);
      expectTypeOf(decision).toEqualTypeOf<Decision<"api" | "login">>();
    };
    void typed;
  });

  it("take a string for a key, and a number for a cost", () => {
    const typed = (): void => {
      // @ts-expect-error A key is a string.
      limiter.checkSync("api", 7);
      // @ts-expect-error A cost is a number.
      limiter.checkSync("api", "k", { cost: "3" });
      // @ts-expect-error There is no such option.
      limiter.checkSync("api", "k", { costs: 3 });
      // @ts-expect-error There is no such option.
      void limiter.wait("api", "k", { maxWait: 3 });
    };
    void typed;
  });

  it("take an idempotency key where it is of use", () => {
    const typed = (): void => {
      const once = { idempotencyKey: "request-1" };
      limiter.checkSync("api", "k", { cost: 2, ...once });
      limiter.checkAllSync([{ rule: "api", key: "k" }], once);
      void limiter.refund("api", "k", once);
      // @ts-expect-error A peek charges nothing.
      void limiter.peek("api", "k", { idempotencyKey: "request-1" });
      // @ts-expect-error A reset can be repeated as it is.
      void limiter.reset("api", "k", { idempotencyKey: "request-1" });
      // @ts-expect-error A wait asks the store more than once.
      void limiter.wait("api", "k", { idempotencyKey: "request-1" });
      // @ts-expect-error Each check would need its own.
      void limiter.checkMany("api", ["k"], { idempotencyKey: "request-1" });
    };
    void typed;
  });

  it("let only leaky buckets schedule", () => {
    const typed = (): void => {
      expectTypeOf(limiter.schedule("mail", "k", () => 42)).resolves.toExtend<Scheduled<number>>();
      expectTypeOf(limiter.schedule("mail", "k", async () => "sent")).resolves.toExtend<Scheduled<string>>();
      expectTypeOf(limiter.schedule("mail", "k", () => 42)).resolves.not.toExtend<Scheduled<string>>();
      // @ts-expect-error That is a token bucket.
      void limiter.schedule("api", "k", () => 42);
    };
    void typed;
  });

  it("have the twins without a promise over memory only", () => {
    const typed = (): void => {
      expectTypeOf(rateLimiter(rules, { maxKeys: 10 })).toEqualTypeOf<MemoryLimiter<typeof rules>>();
      expectTypeOf(rateLimiter(rules, { store: new MemoryStore() })).toEqualTypeOf<MemoryLimiter<typeof rules>>();
      const shared = rateLimiter(rules, { store });
      expectTypeOf(shared).toEqualTypeOf<Limiter<typeof rules>>();
      // @ts-expect-error Another store may need a promise.
      shared.checkSync("api", "k");
    };
    void typed;
  });

  it("take limits made elsewhere, by name if there are names", () => {
    const typed = (): void => {
      const read: Record<string, Limit> = { api: limitFromSpec({ capacity: 5, refill_rate: 1 }) };
      expectTypeOf(rateLimiter(read).checkSync("any name", "k")).toEqualTypeOf<Decision<"any name">>();
      // @ts-expect-error A rate is not yet a limit.
      rateLimiter({ api: "100/m" });
      // @ts-expect-error A limit of a file is not yet a limit.
      rateLimiter({ api: { capacity: 5, refill_rate: 1 } });
    };
    void typed;
  });

  it("are the same for a limiter of tests", () => {
    const typed = (): void => {
      expectTypeOf(testLimiter(rules).limiter).toEqualTypeOf<MemoryLimiter<typeof rules>>();
    };
    void typed;
  });
});
