import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("headgate config", () => {
  test("shows every setting, where it comes from, and no secret", async () => {
    writeFileSync(join(folder, "headgate.yaml"), "http: 127.0.0.1:9000\nadmin_key: s3cr3t-word\nnodes: 3\n");
    const flags = ["--http", "127.0.0.1:9001", "--redis", "redis://:s3cr3t-word@h:1"];
    const run = await headgate(["config", "--config", "headgate.yaml", ...flags], { cwd: folder });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toMatch(/^http: 127\.0\.0\.1:9001 +# --http$/m);
    expect(run.stdout).toMatch(/^grpc: 127\.0\.0\.1:8081 +# default$/m);
    expect(run.stdout).toMatch(/^nodes: 3 +# headgate\.yaml$/m);
    expect(run.stdout).toMatch(/^redis: "redis:\/\/:\*\*\*@h:1" +# --redis$/m);
    expect(run.stdout).toMatch(/^admin_key: "\*\*\*" +# headgate\.yaml$/m);
    expect(run.stdout).not.toContain("s3cr3t-word");
  });

  test("prints a file that says the same", async () => {
    const first = await headgate(["config", "--http", "[::1]:80", "--grpc", "off", "--skew-bound", "1.5"]);
    writeFileSync(join(folder, "printed.yaml"), first.stdout);
    const second = await headgate(["config", "--config", "printed.yaml"], { cwd: folder });
    const values = (text: string) => text.replaceAll(/ +#.*$/gm, "");
    expect(second.code).toBe(0);
    expect(values(second.stdout)).toBe(values(first.stdout));
  });

  test.each<[string[], RegExp, number?]>([
    [["config", "--http", "nowhere"], /^headgate: --http: must be an address and a port/],
    [["config", "--config", "none.yaml"], /^headgate: none\.yaml: no such file/, 2],
    [["config", "--admin-key", "x"], /^headgate: unknown option '--admin-key'/],
    [["serve", "--data", "--http"], /^headgate: --data: needs a value/],
    [["serve", "--http", "0.0.0.0:1", "--grpc", "off"], /^headgate: --http: other machines can reach 0\.0\.0\.0/],
  ])("%j is refused in one line", async (args, message, code = 1) => {
    const run = await headgate(args, { cwd: folder });
    expect(run.stderr).toMatch(message);
    expect(run.stderr.split("\n")).toHaveLength(2);
    expect(run).toMatchObject({ code, stdout: "" });
  });
});
