import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-suggest-"));
afterAll(() => rmSync(folder, { recursive: true }));

// Key n sends n requests in the first second of a minute: of 100 keys, 90 send at most 90.
const log = Array.from({ length: 100 }, (_, n) =>
  Array.from({ length: n + 1 }, () =>
    JSON.stringify({ time: "2026-01-01T00:00:00Z", user: `u${n + 1}`, path: "/chat", method: "POST" }),
  ),
)
  .flat()
  .join("\n");

const rules = join(folder, "rules.yaml");
writeFileSync(
  rules,
  `rules:
  - name: Chat
    dimension: user
    endpoint_pattern: /chat
    methods: [POST]
    limit: 5
    window_seconds: 60
    algorithm: sliding_window_log
    consistency: strict
`,
);

describe.concurrent("headgate suggest", () => {
  it("prints the smallest limits and a rule, which a replay confirms", async () => {
    const args = ["suggest", "-", "--rule", "api", "--key", "user=user", "--deny-at-most", "10%"];
    const run = await headgate(args, { stdin: log });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("5,050 requests of 100 keys; at most 10 keys (10 %) may be denied");
    expect(run.stdout).toMatch(/token_bucket +90 +90 +10\n/);
    expect(run.stdout).toMatch(/sliding_window_log +90 +10\n/);
    const yaml = run.stdout.slice(run.stdout.indexOf("rules:"));
    const suggested = join(folder, "suggested.yaml");
    writeFileSync(suggested, yaml);
    const replayed = await headgate(["replay", "-", "--rules", suggested, "--key", "user=user", "--json"], {
      stdin: log,
    });
    expect(JSON.parse(replayed.stdout)).toMatchObject({ denied_keys: 10 });
  });

  it("keeps path, methods and the rest of a rule, and applies to its requests only", async () => {
    const other = JSON.stringify({ time: "2026-01-01T00:00:00Z", user: "u1", path: "/other", method: "POST" });
    const args = ["suggest", "-", "--rules", rules, "--rule", "chat", "--key", "user=user", "--deny-at-most", "0"];
    const [text, json] = await Promise.all([
      headgate(args, { stdin: `${log}\n${other}` }),
      headgate([...args, "--json"], { stdin: `${log}\n${other}` }),
    ]);
    expect(text.stdout).toContain("endpoint_pattern: /chat\n    methods:\n      - POST\n");
    expect(text.stdout).toContain("limit: 100\n    window_seconds: 60\n    algorithm: sliding_window_log\n");
    const { keys, requests, suggestions } = JSON.parse(json.stdout);
    expect({ keys, requests }).toEqual({ keys: 100, requests: 5_050 });
    expect(suggestions[0].rule).toMatchObject({ rule_id: "chat", limit: 100, methods: ["POST"] });
  });

  it.each([
    [["--rule", "api"], "--deny-at-most: is required"],
    [["--rule", "api", "--deny-at-most", "2"], "--deny-at-most: must be a share below 1"],
    [["--deny-at-most", "1%"], "--rule: is required"],
    [["--rule", "api", "--deny-at-most", "1%", "--algorithm", "x"], "--algorithm: must be"],
    [["--rule", "none", "--rules", rules, "--deny-at-most", "1%"], "--rule: there is no rule none"],
    [["--rule", "chat", "--rules", rules, "--deny-at-most", "1%"], "name the field with --key user=…"],
  ])("refuses %j", async (args, message) => {
    const run = await headgate(["suggest", "-", ...args], { stdin: log });
    expect(run).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
  });
});
