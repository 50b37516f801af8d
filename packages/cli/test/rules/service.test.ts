import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, onTestFinished, test, vi } from "vitest";
import { folderWith, rule, rulesYaml } from "./files.ts";
import { KEY, service, stored } from "./service.ts";

const names = ["a", "b", "c", "d", "e"];
const there = names.map((name) => stored(rule({ name })));

test("export prints all pages as a file that can be read again", async () => {
  const { url, asked } = await service(there);
  const { stdout, stderr, code } = await headgate(["rules", "export", "--url", url, "--key", KEY]);
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET /api/v1/rules?limit=1000",
    "GET /api/v1/rules?limit=1000&cursor=2",
    "GET /api/v1/rules?limit=1000&cursor=4",
  ]);
  expect(stdout).not.toMatch(/version|created_at|from_the_future|null/);
  expect((await headgate(["rules", "validate", "-"], { stdin: stdout })).stdout).toBe(
    "standard input: 5 rules, 0 warnings\n",
  );
  const cwd = folderWith({ "rules.yaml": stdout });
  const same = await headgate(["rules", "diff", "rules.yaml", "--url", url, "--key", KEY], { cwd });
  expect(same.stdout).toBe("0 created, 0 updated, 0 removed, 5 unchanged\n");
});

test("export writes a file in one step, over the old one", async () => {
  const { url } = await service(there);
  const cwd = folderWith({ "rules.yaml": "rules: []" });
  expect(await headgate(["rules", "export", "-o", "rules.yaml", "--url", url, "--key", KEY], { cwd })).toEqual({
    stdout: "",
    stderr: "",
    code: 0,
  });
  expect(readFileSync(join(cwd, "rules.yaml"), "utf8")).toMatch(/^rules:\n {2}- rule_id: a\n/);
  expect(readdirSync(cwd)).toEqual(["rules.yaml"]);
  const nowhere = await headgate(["rules", "export", "-o", "no/rules.yaml", "--url", url, "--key", KEY], { cwd });
  expect(nowhere).toMatchObject({
    stdout: "",
    stderr: "headgate: no/rules.yaml: cannot be written (ENOENT)\n",
    code: 1,
  });
});

test("diff compares a file with a service", async () => {
  const { url } = await service(there);
  const cwd = folderWith({ "rules.yaml": rulesYaml({ name: "a", limit: 5 }, { name: "b" }, { name: "new" }) });
  const { stdout, code } = await headgate(["rules", "diff", "rules.yaml", "--url", `${url}/`, "--key", KEY], { cwd });
  expect(code).toBe(0);
  expect(stdout.split("\n").map((line) => line.split(":")[0])).toEqual([
    "+ new",
    "~ a",
    "- c",
    "- d",
    "- e",
    "1 created, 1 updated, 3 removed, 1 unchanged",
    "",
  ]);
});

test("apply sends all rules in one request, and says what was done", async () => {
  const { url, asked } = await service(there);
  const cwd = folderWith({ "rules.yaml": rulesYaml({ name: "new" }) });
  expect(await headgate(["rules", "apply", "rules.yaml", "--url", url, "--key", KEY], { cwd })).toEqual({
    stdout: "1 created, 0 updated, 2 removed, 3 unchanged\n",
    stderr: "",
    code: 0,
  });
  expect(asked).toMatchObject([
    {
      method: "PUT",
      url: "/api/v1/rules",
      body: { rules: [{ rule_id: "new", limit: 100, mode: "enforce", burst: null }] },
    },
  ]);
});

test("apply sends nothing of a file that is wrong", async () => {
  const { url, asked } = await service(there);
  const cwd = folderWith({ "rules.yaml": rulesYaml({ name: "new" }, { name: "bad", limit: 0 }) });
  expect((await headgate(["rules", "apply", "rules.yaml", "--url", url, "--key", KEY], { cwd })).code).toBe(1);
  expect(asked).toEqual([]);
});

test("the key can come from the environment", async () => {
  const { url } = await service(there);
  vi.stubEnv("HEADGATE_KEY", KEY);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  expect((await headgate(["rules", "export", "--url", url])).code).toBe(0);
});

test.each([
  [["--url", "ftp://127.0.0.1"], "--url: must be a URL such as http://127.0.0.1:8080"],
  [["--url", "http://me:secret@127.0.0.1"], "--url: must be a URL such as http://127.0.0.1:8080"],
  [["--url", "nowhere"], "--url: must be a URL such as http://127.0.0.1:8080"],
  [
    ["--url", "http://127.0.0.1:2"],
    "http://127.0.0.1:2/: cannot be reached (ECONNREFUSED): is the service running there?",
  ],
  [["--key", "a secret\nin two lines"], "--key: must be an API key of the service, hg_…"],
])("export %j is refused, without the key", async (args, message) => {
  const run = await headgate(["rules", "export", "--key", KEY, ...args]);
  expect(run).toMatchObject({ stdout: "", code: 1, stderr: expect.stringContaining(message) });
  expect(run.stderr).not.toMatch(/secret/);
});

test("a key is required", async () => {
  const run = await headgate(["rules", "export"]);
  expect(run).toMatchObject({ code: 1, stderr: "headgate: --key: is required (or HEADGATE_KEY in the environment)\n" });
});

test.each([
  [
    "another key",
    { status: 401, body: '{"title":"Unauthenticated","detail":"no such key"}' },
    "401 Unauthenticated; no such key",
  ],
  [
    "a refusal by field",
    { status: 400, body: '{"title":"Invalid","errors":[{"field":"rules[0].limit","problem":"is odd"}]}' },
    "400 Invalid; rules[0].limit: is odd",
  ],
  ["an error without a body", { status: 502, body: "" }, ": 502\n"],
  ["no JSON", { status: 200, body: "<html>" }, "does not respond like a Headgate service"],
  ["other JSON", { status: 200, body: "[]" }, "does not respond like a Headgate service"],
  ["rules that are none", { status: 200, body: '{"rules":[5]}' }, "does not respond like a Headgate service"],
  ["a way elsewhere", { status: 307, body: "", headers: { location: "http://127.0.0.1:1/" } }, "cannot be reached"],
])("export says so when the service answers with %s", async (_, answer, message) => {
  const { url } = await service(there, () => answer);
  const { stdout, stderr, code } = await headgate(["rules", "export", "--url", url, "--key", KEY]);
  expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
  expect(stderr).toMatch(/^headgate: [^\n]*\n$/);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain("secret");
});
