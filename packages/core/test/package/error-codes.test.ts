import { readFileSync } from "node:fs";
import { root, sourceFiles } from "headgate-testkit/repository";
import { describe, expect, it } from "vitest";
import { warningCodes } from "../../src/errors.ts";
import {
  concurrency,
  errorCodes,
  gcra,
  HeadgateError,
  limitFromSpec,
  rateLimiter,
  type StoreError,
  timeFromSeconds,
  tokenBucket,
} from "../../src/index.ts";
import { rateLimit } from "../../src/middleware/web.ts";

describe("docs/guide/errors.md", () => {
  it("lists every code and no other, with the meaning that the code has", () => {
    const text = readFileSync(`${root}/docs/guide/errors.md`, "utf8");
    const rows = [...text.matchAll(/^\| `(HG_\w+)` \| (.+?) \| (.+) \|$/gm)];
    // docs/service/storage.md lists those of the database.
    const errors = Object.entries(errorCodes).filter(([code]) => !code.startsWith("HG_DATABASE_"));
    expect(rows.map(([, code, meaning]) => [code, meaning])).toEqual([...errors, ...Object.entries(warningCodes)]);
    for (const [, , , advice] of rows) expect(advice).toMatch(/\w.*\.$/);
  });
});

describe("an error", () => {
  // Errors of stores, of the database and of the service are tested there.
  type Other =
    | StoreError["code"]
    | `HG_DATABASE_${string}`
    | "HG_BAD_REQUEST"
    | "HG_KEYS_APART"
    | "HG_RESERVATION_LOST";
  type Mistake = Exclude<HeadgateError["code"], Other>;
  const mistakes: Record<Mistake, () => unknown> = {
    HG_BAD_RATE: () => tokenBucket("100 per minute"),
    HG_BAD_LIMIT: () => limitFromSpec({ algorithm: "gcra", limit: 0, window: 1 }, "config.default"),
    HG_BAD_RULES: () => rateLimiter({}),
    HG_BAD_OPTION: () => rateLimiter({ api: gcra("1/s") }, { maxKeys: -1 }),
    HG_BAD_COST: () => rateLimiter({ api: gcra("1/s") }).checkSync("api", "k", { cost: 2.5 }),
    HG_BAD_KEY: () => rateLimiter({ api: gcra("1/s") }).checkSync("api", 7 as never),
    HG_BAD_TIME: () => timeFromSeconds("now"),
    HG_BAD_CHECKS: () => rateLimiter({ api: gcra("1/s") }).checkAllSync([]),
    HG_UNKNOWN_RULE: () => rateLimiter({ api: gcra("1/s") }).checkSync("apy" as "api", "k"),
    HG_NOT_A_QUEUE: () => rateLimiter({ api: gcra("1/s") }).schedule("api" as never, "k", () => 1),
    HG_NEEDS_SLOT: () => rateLimiter({ jobs: concurrency(1) }).checkSync("jobs", "k"),
    HG_NOT_RESERVED: async () => {
      const limited = rateLimit(rateLimiter({ api: gcra("1/s") }), { rules: "api", peer: () => "1.2.3.4" });
      await limited(async (_request, { settle }) => {
        await settle(5);
        return new Response();
      })(new Request("http://localhost/"));
    },
    HG_NOT_CONCURRENT: () => rateLimiter({ api: gcra("1/s") }).run("api", "k", () => 1),
    HG_UNKNOWN_RESERVATION: () => rateLimiter({ api: gcra("1/s") }).reservation("unknown"),
    HG_RESERVATION_SETTLED: async () => {
      const reservation = await rateLimiter({ api: gcra("9/s") }).reserve([{ rule: "api", key: "k", cost: 5 }]);
      await reservation.settle({ api: 3 });
      await reservation.settle({ api: 4 });
    },
    HG_NOT_SUPPORTED: () =>
      rateLimiter({ api: gcra("1/s") }, { store: { apply: () => [] } }).firstOf([{ rule: "api", key: "k" }]),
    HG_IDEMPOTENCY_CONFLICT: () => {
      const limiter = rateLimiter({ api: gcra("1/s") });
      for (const cost of [1, 2]) limiter.checkSync("api", "k", { cost, idempotencyKey: "once" });
    },
  };

  it.each(Object.entries(mistakes))(
    "of code %s says the code, the field, and what is wrong with it",
    async (code, make) => {
      const error = await Promise.resolve()
        .then(make)
        .catch((reason: unknown) => reason);
      if (!(error instanceof HeadgateError)) throw new Error(`threw ${String(error)}`);
      expect(error).toBeInstanceOf(Error);
      expect(error.name).toBe("HeadgateError");
      expect(error.code).toBe(code);
      expect(error.field).not.toBe("");
      expect(error.message.startsWith(`${error.field}: `)).toBe(true);
      expect(error.message.length).toBeGreaterThan(error.field.length + 10);
      expect(error.message).not.toMatch(/\n|undefined|\[object/);
    },
  );

  it("has a code that is in use", () => {
    const files = ["packages/core", "packages/server", "packages/cli"].flatMap(sourceFiles);
    const sources = files
      .filter((file) => !file.endsWith("core/src/errors.ts"))
      .map((file) => readFileSync(file, "utf8"));
    const used = new Set(sources.flatMap((text) => [...text.matchAll(/"(HG_\w*[A-Z])"/g)].map(([, code]) => code)));
    expect([...used].sort()).toEqual([...Object.keys(errorCodes), ...Object.keys(warningCodes)].sort());
  });

  it("shows a long value in short", () => {
    const long = "x".repeat(10_000);
    expect(() => tokenBucket(long)).toThrow(expect.objectContaining({ code: "HG_BAD_RATE" }));
    expect(() => tokenBucket(long)).toThrow(/^.{0,300}$/);
  });
});
