import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Sqlite from "libsql";
import { afterAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";
import { admin, aRule } from "./fixtures.ts";
import { SqlitePlaces } from "./places.ts";

const run = promisify(execFile);
const UNSHARE = "/usr/bin/unshare";

describe("an embedded database", () => {
  const places = new SqlitePlaces();
  afterAll(() => places.remove());

  it("is made where there is none, for its owner only", async () => {
    const data = join(String(places.next().options.data), "deep", "er");
    const database = await openDatabase({ data });
    await database.rules.create(aRule(), admin);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(data)) expect(statSync(join(data, name)).mode & 0o777).toBe(0o600);
    expect(readdirSync(data)).toContain("headgate.db");
    await database.close();
  });

  it("reports if its folder cannot be created", async () => {
    await expect(openDatabase({ data: "/proc/headgate" })).rejects.toMatchObject({ name: "DatabaseError" });
  });

  it("waits for another process that writes, without holding up this one, and reads meanwhile", async () => {
    const { options, file } = places.next();
    const database = await openDatabase(options);
    const other = new Sqlite(file);
    other.exec("begin immediate");
    const writing = database.rules.create(aRule(), admin);
    let late = 0;
    for (let i = 0; i < 20; i += 1) {
      const begin = performance.now();
      await delay(5);
      late = Math.max(late, performance.now() - begin);
      expect(await database.rules.all()).toEqual([]);
    }
    other.exec("commit");
    other.close();
    expect(await writing).toMatchObject({ version: 1 });
    expect(late).toBeLessThan(1_000);
    await database.close();
  });

  it("reports if another process does not release it", async () => {
    const { options, file } = places.next();
    const database = await openDatabase(options);
    const other = new Sqlite(file);
    other.exec("begin immediate");
    await expect(database.rules.create(aRule(), admin)).rejects.toMatchObject({
      name: "DatabaseError",
      code: "HG_DATABASE_LOCKED",
      message: expect.stringContaining(file),
      cause: { code: "SQLITE_BUSY" },
    });
    expect(await database.rules.all()).toEqual([]);
    other.exec("rollback");
    other.close();
    expect(await database.rules.create(aRule(), admin)).toMatchObject({ version: 1 });
    await database.close();
  });

  it.each<[string, (data: string, file: string) => void]>([
    ["was removed", (data) => rmSync(data, { recursive: true })],
    [
      "was replaced",
      (_, file) => {
        writeFileSync(`${file}.new`, "");
        renameSync(`${file}.new`, file);
      },
    ],
  ])("acknowledges nothing more when its file %s, and still answers from what it has", async (_, harm) => {
    const { options, file } = places.next();
    const database = await openDatabase(options);
    const rule = await database.rules.create(aRule(), admin);
    harm(String(options.data), file);
    const gone = { name: "DatabaseError", code: "HG_DATABASE_UNREACHABLE" };
    await expect(database.rules.remove("rule", admin)).rejects.toMatchObject(gone);
    const many = Array.from({ length: 600 }, (_, i) => aRule({ rule_id: `r${i}`, endpoint_pattern: `/r${i}` }));
    await expect(database.rules.replace(many, admin)).rejects.toMatchObject(gone);
    await expect(database.answered.claim("k", "f", new Date())).rejects.toMatchObject(gone);
    await expect(database.ping()).rejects.toMatchObject(gone);
    expect(await database.rules.all()).toEqual([rule]);
    // A writer on another connection does not create it again.
    expect(existsSync(file) && statSync(file).size > 0).toBe(false);
    await database.close();
  });

  it("is rejected if the file is not a database", async () => {
    const { options, file } = places.next();
    mkdirSync(String(options.data));
    writeFileSync(
      file,
      "this is not a database, and long enough to be seen as something else than an empty one".repeat(9),
    );
    await expect(openDatabase(options)).rejects.toMatchObject({ name: "DatabaseError", code: "HG_DATABASE_CORRUPT" });
  });

  it("cannot be opened in the place of a file, or below one", async () => {
    const { options } = places.next();
    const data = String(options.data);
    writeFileSync(data, "");
    const unreachable = {
      name: "DatabaseError",
      code: "HG_DATABASE_UNREACHABLE",
      message: expect.stringContaining(data),
    };
    await expect(openDatabase({ data })).rejects.toMatchObject(unreachable);
    await expect(openDatabase({ data: join(data, "below") })).rejects.toMatchObject(unreachable);
    await expect(openDatabase({})).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "data" });
  });

  it.runIf(canMount())(
    "keeps what it has when its disk is full, writes again when there is room, and refuses a read-only disk",
    async () => {
      const disk = mkdtempSync(join(tmpdir(), "headgate-disk-"));
      const program = fileURLToPath(new URL("small-disk.mjs", import.meta.url));
      // In a mount namespace of its own, the disk goes with the processes.
      const script = `mount -t tmpfs -o size=3m tmpfs "$3" && "$1" "$2" full "$3" &&
        mount -o remount,ro "$3" && "$1" "$2" readOnly "$3"`;
      const shell = ["--mount", "sh", "-c", script, "sh", process.execPath, program, disk];
      const { stdout } = await run(UNSHARE, shell);
      rmSync(disk, { recursive: true });
      const [met, after] = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(met.written).toBeGreaterThan(10);
      const whole = { entries: met.written, head: { seq: met.written } };
      expect(met).toMatchObject({ full: "HG_DATABASE_FULL", readable: 1, verified: whole, again: 1 });
      expect(met.whole).toMatchObject({ entries: met.written + 1 });
      expect([met.verified.broken, met.whole.broken]).toEqual([undefined, undefined]);
      expect(after).toEqual({ readOnly: "HG_DATABASE_READ_ONLY" });
    },
  );
});

/** Only root may, and not in every container. */
function canMount(): boolean {
  try {
    execFileSync(UNSHARE, ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
