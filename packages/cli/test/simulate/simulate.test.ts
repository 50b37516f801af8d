import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { root } from "headgate-testkit/repository";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-simulate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const examples = join(root, "examples/simulations");

const RULES = `
  - name: All
    dimension: user
    endpoint_pattern: /**
    limit: 10
    window_seconds: 1
    algorithm: fixed_window`;

function simulation(more: string, rules = RULES): string {
  return `duration_seconds: 10\ntraffic:\n  - name: api\n    rate: 20\n    arrivals: { model: steady }\n${more}rules: ${rules}\n`;
}

describe.concurrent("headgate simulate", () => {
  it.each(readdirSync(examples).filter((name) => name.endsWith(".yaml")))(
    "runs the example %s, twice with the same result",
    async (name) => {
      const run = (): ReturnType<typeof headgate> => headgate(["simulate", join(examples, name), "--json"]);
      const [first, second] = await Promise.all([run(), run()]);
      expect(first).toMatchObject({ code: 0, stderr: "" });
      expect(second).toEqual(first);
      const report = JSON.parse(first.stdout);
      expect(report.denied).toBeGreaterThan(0);
      expect(report.admitted).toBeGreaterThan(0);
      const clients: readonly { readonly attempts: number }[] = report.clients;
      expect(clients.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(report.requests);
    },
  );

  it("prints what became of clients, writes a page, and tests conditions", async () => {
    const page = join(folder, "report.html");
    const retries = "    retries: { strategy: at_once, attempts: 1 }\n";
    const args = ["simulate", "-", "--html", page, "--fail-if", "denied_share > 10%"];
    const run = await headgate(args, { stdin: simulation(retries) });
    expect(run).toMatchObject({ code: 3, stderr: expect.stringContaining("denied_share is 0.") });
    expect(run.stdout).toContain("standard input: seed 1");
    expect(run.stdout).toMatch(/source +requests +attempts +admitted at once/);
    expect(run.stdout).toMatch(/api +200 +3\d\d +/);
    expect(readFileSync(page, "utf8")).toContain("<h2>Clients</h2>");
  });

  it("changes with the seed", async () => {
    const stdin = simulation("").replace("steady", "poisson");
    const countOf = async (...args: readonly string[]): Promise<number> => {
      const { stdout } = await headgate(["simulate", "-", "--json", ...args], { stdin });
      return JSON.parse(stdout).requests;
    };
    const [first, second, again] = await Promise.all([countOf(), countOf("--seed", "2"), countOf("--seed", "1")]);
    expect(again).toBe(first);
    expect(second).not.toBe(first);
  });

  it("simulates a cluster, with a row for each consistency", async () => {
    const cluster = "cluster: { nodes: 4, consistency: [strict, leased, split] }\n";
    const stdin = `${simulation("")}${cluster}`.replace("rate: 20", "rate: 200");
    const [text, json] = await Promise.all([
      headgate(["simulate", "-"], { stdin }),
      headgate(["simulate", "-", "--json"], { stdin }),
    ]);
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toContain("2,000 checks on 4 nodes, 200 per second");
    const reports: readonly Record<string, unknown>[] = JSON.parse(json.stdout);
    expect(reports).toMatchObject([
      { consistency: "strict", checks: 2_000, admitted: 100, most_of_limit: 1, round_trips_per_thousand: 1_000 },
      { consistency: "leased", checks: 2_000 },
      { consistency: "split", checks: 2_000, most_of_limit: 1, failed: 0 },
    ]);
    // 4 nodes with a heartbeat every 150 ms for 10 seconds, and 2,000 checks.
    expect(reports[2]["round_trips_per_thousand"]).toBeCloseTo((4 * 10_000) / 150 / 2, -1);
    const refused = await headgate(["simulate", "-", "--html", "x.html"], { stdin });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--html: is not available") });
  });

  it("simulates nodes that start, stop and are killed", async () => {
    const changes =
      "starts: [{ at_seconds: 2 }], ends: [{ node: 0, at_seconds: 4 }, { node: 1, at_seconds: 6, killed: true }]";
    const cluster = `cluster: { nodes: 2, consistency: [strict, split], ${changes} }\n`;
    const stdin = `${simulation("")}${cluster}`.replace("rate: 20", "rate: 200");
    const { stdout, code } = await headgate(["simulate", "-", "--json"], { stdin });
    expect(code).toBe(0);
    const reports: readonly Record<string, number>[] = JSON.parse(stdout);
    expect(reports).toMatchObject([
      { consistency: "strict", checks: 2_000, most_of_limit: 1 },
      { consistency: "split", checks: 2_000, failed: 0 },
    ]);
    // All in one window, starting with two nodes: see docs/stores/split.md.
    expect(reports[1]["most_of_limit"]).toBeGreaterThan(1);
    expect(reports[1]["most_of_limit"]).toBeLessThanOrEqual(1 + 1 / 3 + 1 / 3 + 1 / 2);
    const all = stdin.replace(changes, "ends: [{ node: 0, at_seconds: 5 }, { node: 1, at_seconds: 5 }]");
    const [{ failed }]: readonly Record<string, number>[] = JSON.parse(
      (await headgate(["simulate", "-", "--json"], { stdin: all })).stdout,
    );
    expect(failed).toBeGreaterThan(900);
    expect(failed).toBeLessThan(1_100);
  });

  it("finds rules in a file next to the simulation", async () => {
    writeFileSync(join(folder, "rules.yaml"), `rules:${RULES}\n`);
    writeFileSync(join(folder, "simulation.yaml"), simulation("", "rules.yaml"));
    const run = await headgate(["simulate", join(folder, "simulation.yaml"), "--json"]);
    expect(JSON.parse(run.stdout)).toMatchObject({ requests: 200, admitted: 100 });
  });

  it.each([
    ["traffic: []\nrules: []\n", "duration_seconds: is required"],
    ["duration_seconds: ten\ntraffic: []\nrules: []\n", 'duration_seconds: must be a number, got "ten"'],
    ["duration_seconds: 1\ntraffic: []\nrules: []\n", "traffic: must have at least 1 entry"],
    ["[1]", "must be an object with fields, got a list"],
    [simulation("    zipff: 1\n"), "traffic[0]: zipff: unknown field"],
    [simulation("    zipf: 11\n"), "traffic[0].zipf: must be at most 10, got 11"],
    [simulation("    cost: 1.5\n"), "traffic[0].cost: must be a whole number"],
    [simulation("    retries: { strategy: never }\n"), "traffic[0].retries.strategy: must be one of at_once"],
    [simulation("", "[{ name: A }]"), "rules[0].dimension"],
    ["a: [", "standard input:1:"],
  ])("names what is wrong with %j", async (stdin, message) => {
    const run = await headgate(["simulate", "-"], { stdin });
    expect(run).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
    expect(run.stderr.trim().split("\n")).toHaveLength(1);
  });
});
