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
    expect((await outputOf("opentelemetry")).trim().split("\n").sort()).toEqual([
      "headgate.decisions rule=api result=allowed source=store degraded=false: 5",
      "headgate.decisions rule=api result=denied source=store degraded=false: 3",
      "headgate.decisions rule=login result=allowed source=store degraded=false: 3",
      "headgate.decisions rule=login result=denied source=store degraded=false: 1",
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
    expect(mails[7] - mails[0]).toBeGreaterThanOrEqual(690);
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
