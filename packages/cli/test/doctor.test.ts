import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-doctor-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("headgate doctor", () => {
  test("says a line about each thing, makes nothing, and ends with 0 if nothing fails", async () => {
    const run = await headgate(["doctor", "--data", "data", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], {
      cwd: folder,
    });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    for (const line of run.stdout.trimEnd().split("\n")) expect(line).toMatch(/^(ok {2}|warn) {2}\S/);
    expect(run.stdout).toMatch(/^ok +listening +for this machine only$/m);
    expect(run.stdout).toMatch(/^ok +database +there is none in data yet/m);
    expect(existsSync(join(folder, "data"))).toBe(false);
  });

  test("ends with 1 if something fails, and says what to do", async () => {
    writeFileSync(join(folder, "rules.yaml"), "rules:\n  - name: A\n    limit: 0\n");
    const run = await headgate(["doctor", "--http", "0.0.0.0:80", "--rules", "rules.yaml"], { cwd: folder });
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/^fail +listening .*--tls-cert/m);
    expect(run.stdout).toMatch(/^fail +rules +rules\.yaml:\d+:\d+: /m);
  });
});
