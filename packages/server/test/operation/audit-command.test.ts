import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import Sqlite from "libsql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-audit-"));
const actor = { id: "key-1", name: "alice" };
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  const database = await openDatabase({ data: folder });
  await database.users.setTier("1", "free", actor);
  await database.users.setTier("2", "premium", actor);
  await database.users.setTier("1", "premium", actor);
  await database.close();
});

describe("headgate audit", () => {
  it("lists entries as lines of JSON, those of one subject if asked to", async () => {
    const all = await headgate(["audit", "list", "--data", folder]);
    expect(all).toMatchObject({ code: 0, stderr: "" });
    expect(lines(all.stdout)).toHaveLength(3);
    const one = lines((await headgate(["audit", "list", "--data", folder, "--subject", "user:1"])).stdout);
    expect(one).toHaveLength(2);
    expect(one[0]).toMatchObject({ action: "user.tier", subject: "user:1", actor_name: "alice" });
    expect(lines((await headgate(["audit", "list", "--data", folder, "--limit", "1"])).stdout)).toHaveLength(1);
    expect((await headgate(["audit", "list", "--data", folder, "--to", "2020-01-01"])).stdout).toBe("");
  });

  it.each<[string[], RegExp, number?]>([
    [["--limit", "0"], /^headgate: --limit: must be a whole number/],
    [["--from", "noon"], /^headgate: --from: must be a time/],
    [["--data", join(folder, "none")], /no Headgate database in this folder/, 2],
  ])("refuses %j", async (args, message, code = 1) => {
    const run = await headgate(["audit", "list", "--data", folder, ...args]);
    expect(run.stderr).toMatch(message);
    expect(run).toMatchObject({ code, stdout: "" });
  });

  const verify = (...args: string[]) => headgate(["audit", "verify", "--data", folder, ...args]);
  const edit = (statements: string) => {
    const file = new Sqlite(join(folder, "headgate.db"));
    file.exec(statements);
    file.close();
  };

  it("prints the head of a whole chain, and accepts it as --head later", async () => {
    const { code, stderr, stdout } = await verify();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [, head] = /^intact: 3 entries\nhead: (3:[0-9a-f]{64})\n$/.exec(stdout) ?? [];
    expect(head).toBeDefined();
    const again = await verify("--head", head);
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("expected: entry 3 is part of the chain\n"),
    });
    const other = await verify("--head", `3:${"f".repeat(64)}`);
    expect(other).toMatchObject({ code: 1, stdout: expect.stringMatching(/^broken at entry 3: .*expected hash/) });
    expect(other.stdout).toContain(`head: ${head}\n`);
  });

  it.each(["3", "3:abc", `${"f".repeat(64)}`, `-1:${"f".repeat(64)}`])("refuses %j as --head", async (head) => {
    const run = await verify(`--head=${head}`);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toMatch(/^headgate: --head: must be a head printed by audit verify/);
  });

  it("names every entry that was edited or cannot be parsed", async () => {
    edit("update headgate_audit set actor_name = 'mallory' where seq = 2");
    edit("update headgate_audit set after = '{' where seq = 3");
    const { code, stdout, stderr } = await verify();
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "broken at entry 2: the entry was changed after it was written",
      "broken at entry 3: the entry cannot be read: after is not valid JSON",
      expect.stringMatching(/^head: 3:/),
      "",
    ]);
    const listed = await headgate(["audit", "list", "--data", folder]);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(lines(listed.stdout)[0]).toMatchObject({ seq: 3, after: "{", unreadable: "after is not valid JSON" });
  });
});

function lines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
