import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Sqlite from "libsql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headgate } from "../../../cli/test/headgate.ts";
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
    [["--data", join(folder, "none")], /there is no database of Headgate/, 2],
  ])("refuses %j", async (args, message, code = 1) => {
    const run = await headgate(["audit", "list", "--data", folder, ...args]);
    expect(run.stderr).toMatch(message);
    expect(run).toMatchObject({ code, stdout: "" });
  });

  it("says that the chain is whole, and where it is not once somebody has edited it", async () => {
    const verify = () => headgate(["audit", "verify", "--data", folder]);
    expect(await verify()).toEqual({ code: 0, stderr: "", stdout: "whole: 3 entries\n" });
    const file = new Sqlite(join(folder, "headgate.db"));
    file.prepare("update headgate_audit set actor_name = 'mallory' where seq = 2").run();
    file.close();
    const broken = await verify();
    expect(broken).toMatchObject({ code: 1, stderr: "" });
    expect(broken.stdout).toMatch(/^broken at entry 2: /);
  });
});

function lines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
