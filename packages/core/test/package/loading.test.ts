import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as source from "../../src/index.ts";
import * as redis from "../../src/redis.ts";
import * as testing from "../../src/testing/index.ts";
import { Consumer } from "./consumer.ts";

/** What both ways of loading must give. */
const body = `
const { limiter, clock } = testLimiter({ api: headgate.tokenBucket("2/m"), mail: headgate.leakyBucket("10/s") });
const first = limiter.checkSync("api", "k", { cost: 2 });
const second = limiter.checkSync("api", "k");
const system = headgate.rateLimiter({ api: headgate.gcra("1/d") });
let caught;
try { limiter.checkSync("apy", "k"); } catch (error) { caught = [error instanceof headgate.HeadgateError, error.code]; }
console.log(JSON.stringify({
  exports: Object.keys(headgate).sort(),
  redis: Object.keys(redis).sort(),
  testing: Object.keys({ ManualClock, testLimiter }).sort(),
  decisions: [first.allowed, second.allowed, second.retryAfterMs, clock.now()],
  sentence: String(second.explain()),
  system: [system.checkSync("api", "k").allowed, system.checkSync("api", "k").allowed],
  caught,
}));
`;

const files = {
  "load.mjs": `import * as headgate from "headgate";\nimport { ManualClock, testLimiter } from "headgate/testing";\nimport * as redis from "headgate/redis";\n${body}`,
  "load.cjs": `const headgate = require("headgate");\nconst { ManualClock, testLimiter } = require("headgate/testing");\nconst redis = require("headgate/redis");\n${body}`,
};

const consumer = new Consumer();

beforeAll(async () => {
  await consumer.install("ioredis");
  for (const [name, text] of Object.entries(files)) consumer.write(name, text);
}, 60_000);

afterAll(() => {
  consumer.remove();
});

describe("the packed library", () => {
  it("loads without the packages that only some entry points need", async () => {
    const alone = new Consumer();
    try {
      await alone.install();
      alone.write(
        "alone.mjs",
        `import { gcra, rateLimiter } from "headgate";\nconsole.log(rateLimiter({ a: gcra("1/s") }).checkSync("a", "k").allowed);`,
      );
      expect(await alone.run(process.execPath, ["alone.mjs"])).toBe("true\n");
      alone.write(
        "redis.mjs",
        `import { RedisStore } from "headgate/redis";\nawait new RedisStore("redis://127.0.0.1:1").ready().catch(({ message }) => console.log(message));`,
      );
      expect(await alone.run(process.execPath, ["redis.mjs"])).toContain("requires the package ioredis");
    } finally {
      alone.remove();
    }
  });

  it.each(Object.keys(files))("loads on this Node: %s", async (file) => {
    expectWorks(await consumer.run(process.execPath, [file]));
  });

  it("is one library for a program that both imports and requires it", async () => {
    consumer.write(
      "both.mjs",
      `import { createRequire } from "node:module";
       import { gcra, rateLimiter } from "headgate";
       const required = createRequire(import.meta.url)("headgate");
       const limiter = rateLimiter({ api: required.gcra("1/m"), site: gcra("1/m") }, { store: new required.MemoryStore() });
       const decisions = [await limiter.check("api", "k"), await limiter.check("api", "k")];
       console.log(JSON.stringify(decisions.map(({ allowed }) => allowed)));`,
    );
    expect(JSON.parse(await consumer.run(process.execPath, ["both.mjs"]))).toEqual([true, false]);
  });

  it("has what programs load and compilers read, and neither sources nor maps nor tests", () => {
    const folder = join(consumer.folder, "node_modules/headgate");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    expect(files.filter((file) => !/^dist\/(esm|cjs)\/.*\.(js|d\.ts)$/.test(file)).sort()).toEqual([
      "LICENSE",
      "README.md",
      "dist/cjs/package.json",
      "package.json",
    ]);
    expect(files.filter((file) => /\.test\./.test(file))).toEqual([]);
    const mapped = files.filter((file) => readFileSync(join(folder, file), "utf8").includes("//# sourceMappingURL="));
    expect(mapped).toEqual([]);
  });

  it("shows nothing else of itself", async () => {
    consumer.write("inside.mjs", `import("headgate/dist/esm/errors.js").catch((error) => console.log(error.code));`);
    expect(await consumer.run(process.execPath, ["inside.mjs"])).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });
});

describe.concurrent("the packed library on other Nodes", () => {
  it.for(["20", "22", "24", "26"])("loads on Node %s", { timeout: 180_000 }, async (version, test) => {
    const node = (command: string): Promise<string> =>
      consumer.run("npx", ["-y", "-p", `node@${version}`, "-c", command]);
    const got = await node("node --version").catch((error: unknown) => `${error}`);
    if (!got.startsWith(`v${version}.`)) {
      const problem = `Node ${version} could not be had from the npm registry: ${got}`;
      const { CI } = process.env;
      if (CI) throw new Error(problem);
      return test.skip(problem);
    }
    const printed = await node(
      Object.keys(files)
        .map((file) => `node ${file}`)
        .join(" && "),
    );
    for (const line of printed.trim().split("\n")) expectWorks(line);
    expect(printed.trim().split("\n")).toHaveLength(2);
  });
});

function expectWorks(printed: string): void {
  expect(JSON.parse(printed)).toEqual({
    exports: Object.keys(source).sort(),
    redis: Object.keys(redis).sort(),
    testing: Object.keys(testing).sort(),
    decisions: [true, false, 30_000, 0],
    sentence:
      "api (token_bucket, 2 per 60 s); denied a cost of 1; 0 of 2 left; would be allowed in 30 s; full again in 60 s",
    system: [true, false],
    caught: [true, "HG_UNKNOWN_RULE"],
  });
}
