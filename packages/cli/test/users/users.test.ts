import { randomBytes } from "node:crypto";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, onTestFinished, test, vi } from "vitest";
import { folderWith } from "../rules/files.ts";
import { service } from "../running-service.ts";

const RULE = { rule_id: "orders", name: "Orders", dimension: "user", endpoint_pattern: "/orders", limit: 5 };

/** A service with a rule for all users and one for the tier premium, and `headgate users` asking it. */
async function running(files: Readonly<Record<string, string>>, flags: readonly string[] = []) {
  const key = `hg_first_${randomBytes(32).toString("base64url")}`;
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const cwd = folderWith(files);
  const { url } = await service({ key, cwd, flags });
  vi.stubEnv("HEADGATE_KEY", key);
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    return (await fetch(`${url}/api/v1/${path}`, init)).json();
  };
  const premium = { ...RULE, rule_id: "orders-premium", name: "Premium", tier: "premium" };
  const rules = [RULE, premium].map((rule) => ({ ...rule, window_seconds: 60 }));
  await ask("PUT", "rules", { rules });
  const users = (args: readonly string[], stdin = "") => headgate(["users", ...args, "--url", url], { cwd, stdin });
  return { users, ask };
}

function csv(count: number): string {
  const rows = Array.from({ length: count }, (_, i) => `u${String(i).padStart(4, "0")},premium\r\n`);
  return `user_id,tier\r\n${rows.join("")}`;
}

test("a file of any size is imported, as often as one likes, and exported as it can be imported", async () => {
  const { users } = await running({ "users.csv": csv(1_200) }, ["--config-writes-limit", "2/s"]);
  const first = await users(["import", "users.csv"]);
  expect(first).toEqual({ stdout: "1200 created, 0 updated, 0 unchanged\n", stderr: "", code: 0 });
  expect((await users(["import", "users.csv"])).stdout).toBe("0 created, 0 updated, 1200 unchanged\n");
  const exported = await users(["export"]);
  const lines = exported.stdout.split("\n");
  expect(lines).toHaveLength(1_201);
  expect(JSON.parse(lines[1_199])).toEqual({ user_id: "u1199", tier: "premium", custom_limits: {} });
  const again = await users(["import", "--format", "jsonl", "-"], exported.stdout);
  expect(again.stdout).toBe("0 created, 0 updated, 1200 unchanged\n");
});

test("what is absent stays as it is, and an empty tier is none", async () => {
  const custom = '{"user_id":"a","custom_limits":{"orders":{"limit":9}}}\n\n{"user_id":"b, \\"c\\"","tier":"premium"}';
  const { users, ask } = await running({
    "users.jsonl": custom,
    "users.csv": 'tier,user_id\n,"b, ""c"""\npremium,a\n',
  });
  expect((await users(["import", "users.jsonl"])).stdout).toBe("2 created, 0 updated, 0 unchanged\n");
  expect((await users(["import", "users.csv"])).stdout).toBe("0 created, 2 updated, 0 unchanged\n");
  expect(await ask("GET", "users/a")).toMatchObject({ tier: "premium", custom_limits: { orders: { limit: 9 } } });
  expect(await ask("GET", `users/${encodeURIComponent('b, "c"')}`)).toMatchObject({ tier: null });
  const premium = await users(["export", "--tier", "premium"]);
  expect(premium.stdout.match(/user_id/g)).toHaveLength(1);
});

test("a file with mistakes is refused as a whole, with the line of each", async () => {
  const text = [
    '{"user_id":"1","tier":"premium"}',
    '{"user_id":"2","tier":"two words"}',
    '{"user_id":"3"}',
    '{"user_id":"4","teir":"x","tier":null}',
  ].join("\n");
  const { users, ask } = await running({ "users.jsonl": text });
  const { stdout, stderr, code } = await users(["import", "users.jsonl"]);
  expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(/^headgate: users\.jsonl:2: tier: must be a name such as premium/),
    "headgate: users.jsonl:3: tier: is required, or custom_limits",
    "headgate: users.jsonl:4: teir: is not a field of a user",
    "",
  ]);
  expect(await ask("GET", "users")).toEqual({ users: [] });
});

test("errors that only the service can find are reported with their line and what was imported before", async () => {
  const users = Array.from({ length: 501 }, (_, i) => ({ user_id: String(i), tier: i === 3 ? "gold" : "premium" }));
  const wrong = { user_id: "x", custom_limits: { nothing: { limit: 1 } } };
  const text = [...users, wrong].map((user) => JSON.stringify(user)).join("\n");
  const { users: run, ask } = await running({ "users.ndjson": text });
  const { stderr, code } = await run(["import", "users.ndjson"]);
  expect(code).toBe(1);
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(/^headgate: warning: users\.ndjson:4: tier: no rule uses the tier gold: /),
    expect.stringMatching(/^headgate: users\.ndjson:502: custom_limits\.nothing: is not an existing rule \(500 users /),
    "",
  ]);
  const stored = await ask("GET", "users?limit=1000");
  expect(stored).toMatchObject({ users: { length: 500 } });
});

test.each<[string, string[], string, RegExp, number?]>([
  ["no file", ["import"], "", /^headgate: file: is required/],
  ["a file that is not there", ["import", "none.csv"], "", /^headgate: none\.csv: no such file/, 2],
  ["an unknown format", ["import", "-"], "", /^headgate: --format: is required/],
  ["a wrong format", ["import", "-", "--format", "xml"], "", /^headgate: --format: must be csv or jsonl, got "xml"/],
  [
    "other columns",
    ["import", "-", "--format", "csv"],
    "id,tier\n1,a\n",
    /^headgate: standard input:1: the first line/,
  ],
  [
    "too few fields",
    ["import", "-", "--format", "csv"],
    "user_id,tier\n1,a\n2\n",
    /input:3: must have 2 fields, got 1/,
  ],
  [
    "an endless quote",
    ["import", "-", "--format", "csv"],
    `user_id,tier\n"${"x".repeat(2_000_000)}`,
    /input:2: a quoted field is not closed/,
  ],
  [
    "an open quote",
    ["import", "-", "--format", "csv"],
    'user_id,tier\n"1,a\n2,b\n',
    /input:2: a quoted field is not closed/,
  ],
  [
    "a stray quote",
    ["import", "-", "--format", "csv"],
    'user_id,tier\n1"2,a\n',
    /input:2: a field with quotes must be/,
  ],
  ["no JSON", ["import", "-", "--format", "jsonl"], '{"user_id":"1","tier":null}\nx\n', /input:2: is not valid JSON/],
  ["no users", ["import", "-", "--format", "csv"], "user_id,tier\n", /^headgate: standard input: has no users/],
])("refuses %s before it asks the service", async (_, args, stdin, message, code = 1) => {
  const url = ["--url", "http://127.0.0.1:9", "--key", "hg_x"];
  const run = await headgate(["users", ...args, ...url], { stdin });
  expect(run.stderr).toMatch(message);
  expect(run).toMatchObject({ code, stdout: "" });
});
