import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";

const golden = new URL("golden/", import.meta.url).pathname;

test.concurrent.each<[string[], string, string?]>([
  [["--user", "alice", "--time", "0"], `{"user": "alice", "time": 0.0, "decision": "ALLOW", "remaining": 4.0}`],
  [
    ["--user", "é", "--time", "-1.50"],
    String.raw`{"user": "\u00e9", "time": -1.5, "decision": "ALLOW", "remaining": 4.0}`,
  ],
  [["--user=--x", "--time", "0"], `{"user": "--x", "time": 0.0, "decision": "ALLOW", "remaining": 4.0}`],
  [
    ["--user", "premium_user", "--time", "1e3", "--config", `${golden}scenario-3-tiers.json`],
    `{"user": "premium_user", "time": 1000.0, "decision": "ALLOW", "remaining": 9.0}`,
  ],
  [
    ["--user", "a", "--time", ".5", "--config", "-"],
    `{"user": "a", "time": 0.5, "decision": "ALLOW", "remaining": 1.0}`,
    `{"users": {"a": {"capacity": 2, "refill_rate": 1}}}`,
  ],
  [
    ["--user", "a", "--time", "0", "--config", "-"],
    `{"user": "a", "time": 0.0, "decision": "ALLOW", "remaining": 4.0}`,
    "{}",
  ],
  [
    ["--user", "a", "--time", "0", "--config", "-"],
    `{"user": "a", "time": 0.0, "decision": "DENY", "remaining": 0.5, "retry_after": null}`,
    `{"default": {"capacity": 0.5, "refill_rate": 1}}`,
  ],
])("check %j", async (args, line, stdin = "") => {
  expect(await headgate(["check", ...args], { stdin })).toEqual({ stdout: `${line}\n`, stderr: "", code: 0 });
});

test("without a time it is now", async () => {
  const before = Date.now() / 1000;
  const { stdout } = await headgate(["check", "--user", "a"]);
  const { time } = JSON.parse(stdout);
  expect(time).toBeGreaterThanOrEqual(before);
  expect(time).toBeLessThanOrEqual(Date.now() / 1000);
});

test("--fail-on-deny reports a denial through the exit code", async () => {
  const denied = await headgate(["check", "--user", "a", "--fail-on-deny", "--config", "-"], {
    stdin: `{"default": {"capacity": 0.5, "refill_rate": 1}}`,
  });
  expect(denied).toMatchObject({ code: 3, stdout: expect.stringContaining("DENY"), stderr: "" });
  expect(await headgate(["check", "--user", "a", "--fail-on-deny"])).toMatchObject({ code: 0 });
  const scenario = `${golden}scenario-1-burst.json`;
  expect(await headgate(["scenario", "--fail-on-deny", "--file", scenario])).toMatchObject({ code: 3, stderr: "" });
  expect(await headgate(["scenario", "--fail-on-deny", "--file", `${golden}scenario-4-cap.json`])).toMatchObject({
    code: 0,
  });
});
