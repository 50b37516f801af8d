import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Consumer } from "./consumer.ts";

const consumer = new Consumer();

beforeAll(async () => {
  await consumer.install("express", "express-rate-limit");
}, 60_000);

afterAll(() => {
  consumer.remove();
});

/** Names of what a program gets, and whether each way to call it makes middleware. */
const body = `
const ways = [called, module.rateLimit, module.default];
console.log(JSON.stringify({
  names: Object.keys(module).filter((name) => name !== "HeadgateStore").sort(),
  made: ways.map((way) => typeof way({ limit: 1, validate: false }).resetKey),
  window: module.SECOND + module.MINUTE + module.HOUR + module.DAY,
}));
`;

describe.each(["express-rate-limit", "headgate/express-rate-limit"])("%s", (name) => {
  const expected = {
    names: ["DAY", "HOUR", "MINUTE", "MemoryStore", "SECOND", "default", "ipKeyGenerator", "rateLimit"],
    made: ["function", "function", "function"],
    window: 90_061_000,
  };

  it("is a function for a program that requires it", async () => {
    consumer.write("load.cjs", `const called = require(${JSON.stringify(name)});\n{ const module = called; ${body} }`);
    expect(JSON.parse(await consumer.run(process.execPath, ["load.cjs"]))).toEqual(expected);
  });

  it("has the function as its default for a program that imports it", async () => {
    consumer.write(
      "load.mjs",
      `import called from ${JSON.stringify(name)};\nimport * as module from ${JSON.stringify(name)};\n${body}`,
    );
    expect(JSON.parse(await consumer.run(process.execPath, ["load.mjs"]))).toEqual(expected);
  });
});
