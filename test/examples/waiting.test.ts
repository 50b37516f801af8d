import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { startExample } from "./example.ts";

const folder = new URL("../../examples/", import.meta.url);

/** What an example has printed when it is done. */
async function outputOf(name: string): Promise<string> {
  const example = await startExample(name);
  onTestFinished(() => example.stop());
  expect([await example.ended, example.output]).toEqual([0, expect.any(String)]);
  return example.output;
}

describe("the example of", () => {
  it("a client has all of its calls answered, as fast as the server lets it", async () => {
    const output = await outputOf("client");
    expect(output).toMatch(/^\d+ ms: 200 item 0, 2 left$/m);
    expect(output).toMatch(/^10 of 10 calls succeeded$/m);
    expect(Math.max(...times(output, /200 item/))).toBeGreaterThan(2_000);
  });

  it("OpenTelemetry counts decisions by rule, result and source", async () => {
    const counted = (policy: string, result: string, count: number) => {
      const attributes = { policy, result, source: "store", degraded: false };
      const labels = Object.entries(attributes).map(([name, value]) => `headgate.rate_limiting.${name}=${value}`);
      return `headgate.rate_limiting.requests ${labels.join(" ")}: ${count}`;
    };
    expect((await outputOf("opentelemetry")).trim().split("\n").sort()).toEqual([
      counted("api", "allowed", 5),
      counted("api", "denied", 3),
      counted("login", "allowed", 3),
      counted("login", "denied", 1),
    ]);
  });

  it("a worker pool does its jobs in turn, and its mails leave evenly spaced", async () => {
    const output = await outputOf("worker-pool");
    const jobs = [...output.matchAll(/does job (\d+)/g)].map(([, job]) => Number(job));
    expect(jobs).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
    // 5 at once, then 20 a second.
    expect(times(output, /does job 15/)[0]).toBeGreaterThanOrEqual(499);
    const mails = times(output, /mail \d leaves/);
    expect(mails).toHaveLength(8);
    // Mails are scheduled after the last job. The first one may be late, but the eighth leaves 700 ms later at the earliest.
    expect(mails[7] - times(output, /does job 15/)[0]).toBeGreaterThanOrEqual(698);
    expect(output.match(/notification \d leaves/g)).toHaveLength(6);
    expect(output.match(/notification [78] is dropped/g)).toHaveLength(2);
  });
});

it("every example is in the list of them, and there are no others", () => {
  const listed = [...readFileSync(new URL("README.md", folder), "utf8").matchAll(/^\| \[([\w-]+\.mjs)\]/gm)];
  const there = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  expect(listed.map(([, file]) => file).sort()).toEqual(there.sort());
});

/** When the lines that match were printed, in milliseconds. */
function times(output: string, line: RegExp): number[] {
  return output.split("\n").flatMap((text) => (line.test(text) ? [Number.parseInt(text, 10)] : []));
}
