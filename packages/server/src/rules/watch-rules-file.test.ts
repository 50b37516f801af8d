import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, type TestContext, vi } from "vitest";
import { watchRulesFile } from "./watch-rules-file.ts";

function yaml(...limits: number[]): string {
  const rules = limits.map((limit, i) =>
    JSON.stringify({ name: `r${i}`, dimension: "user", endpoint_pattern: `/r${i}`, limit, window_seconds: 60 }),
  );
  return `rules:\n${rules.map((rule) => `  - ${rule}\n`).join("")}`;
}

/** What a watcher of a real file receives, in order: the limits of the rules, or the error. */
function watch(path: string, onTestFinished: TestContext["onTestFinished"]) {
  const told: (number[] | string)[] = [];
  const { stop, reread } = watchRulesFile(
    path,
    (rules) => told.push(rules.map(({ limit }) => limit)),
    (error) => told.push(error instanceof Error ? error.message : String(error)),
  );
  onTestFinished(stop);
  return { told, stop, reread, until: (last: unknown) => vi.waitFor(() => expect(told.at(-1)).toEqual(last), 60_000) };
}

/** A new folder with a rules file in it, removed after the test. */
function newFile(onTestFinished: TestContext["onTestFinished"]) {
  const folder = mkdtempSync(join(tmpdir(), "headgate-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "rules.yaml");
  writeFileSync(path, yaml(1));
  return { folder, path };
}

/** Longer than it takes to hear of a change. */
const LONG_ENOUGH = 1_000;

// At the same time: most of them wait to see that nothing happens.
describe.concurrent("a file that is watched", () => {
  it("reports its rules, and again when they change", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until } = watch(path, onTestFinished);
    await until([1]);
    writeFileSync(path, yaml(2, 3));
    await until([2, 3]);
    utimesSync(path, 1, 1);
    await sleep(LONG_ENOUGH);
    writeFileSync(path, yaml(4));
    await until([4]);
    expect(told).toEqual([[1], [2, 3], [4]]);
  });

  it("reports a change that was made before it was first read", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until } = watch(path, onTestFinished);
    writeFileSync(path, yaml(2));
    await until([2]);
    expect(told).toEqual([[2]]);
  });

  it("reports a file that replaces it", async ({ onTestFinished }) => {
    const { folder, path } = newFile(onTestFinished);
    const { until } = watch(path, onTestFinished);
    for (const limit of [5, 6]) {
      writeFileSync(join(folder, ".rules.yaml.swp"), yaml(limit));
      renameSync(join(folder, ".rules.yaml.swp"), path);
      await until([limit]);
    }
  });

  it("reports a link that is changed to another file", async ({ onTestFinished }) => {
    const { folder } = newFile(onTestFinished);
    for (const name of ["one", "two"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "one", "rules.yaml"), yaml(1));
    writeFileSync(join(folder, "two", "rules.yaml"), yaml(2));
    symlinkSync("one", join(folder, "data"));
    const { until } = watch(join(folder, "data", "rules.yaml"), onTestFinished);
    await until([1]);
    symlinkSync("two", join(folder, "next"));
    renameSync(join(folder, "next"), join(folder, "data"));
    await until([2]);
  });

  it("reports once why rules are invalid, and continues with the next valid ones", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until } = watch(path, onTestFinished);
    await until([1]);
    writeFileSync(path, yaml(0));
    await until(expect.stringMatching(/rules\.yaml:2:\d+: rules\[0\]\.limit: must be a whole number/));
    writeFileSync(path, `${yaml(0)}# as bad as before\n`);
    await sleep(LONG_ENOUGH);
    expect(told).toHaveLength(2);
    writeFileSync(path, yaml(1));
    await until([1]);
    writeFileSync(path, yaml(0));
    await until(expect.stringContaining("limit"));
    expect(told).toHaveLength(4);
  });

  it("reports once that it is missing, and finds it again", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until } = watch(path, onTestFinished);
    await until([1]);
    unlinkSync(path);
    await until(expect.stringContaining("ENOENT"));
    await sleep(LONG_ENOUGH);
    writeFileSync(path, yaml(8));
    await until([8]);
    expect(told).toHaveLength(3);
  });

  it("is read only when it is written to the end", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until } = watch(path, onTestFinished);
    const whole = yaml(...Array.from({ length: 10 }, (_, i) => i + 1));
    const lines = whole.split("\n");
    for (let i = 1; i <= lines.length; i += 1) {
      writeFileSync(path, lines.slice(0, i).join("\n"));
      await sleep(100);
    }
    await until([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(told).toHaveLength(1);
  });

  it("does not report what the caller has read already", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const told: string[] = [];
    onTestFinished(
      watchRulesFile(
        path,
        (rules) => told.push(`${rules.length} rules`),
        () => {},
        yaml(1),
      ).stop,
    );
    await sleep(LONG_ENOUGH);
    expect(told).toEqual([]);
    writeFileSync(path, yaml(1, 2));
    await vi.waitFor(() => expect(told).toEqual(["2 rules"]), 10_000);
  });

  it("is not read again until its listeners are done, and then in its current state", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const told: number[][] = [];
    let finish = () => {};
    const { stop } = watchRulesFile(
      path,
      (rules) => {
        told.push(rules.map(({ limit }) => limit));
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
      () => {},
    );
    onTestFinished(stop);
    await vi.waitFor(() => expect(told).toEqual([[1]]), 10_000);
    writeFileSync(path, yaml(2));
    writeFileSync(path, yaml(3));
    await sleep(LONG_ENOUGH);
    expect(told).toEqual([[1]]);
    finish();
    await vi.waitFor(() => expect(told).toEqual([[1], [3]]), 10_000);
    finish();
  });

  it("may be large, and changed while it is being read: the last version comes last", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const many = (limit: number) => yaml(...Array.from({ length: 2_000 }, () => limit));
    const limits = (limit: number) => Array.from({ length: 2_000 }, () => limit);
    const { told, until } = watch(path, onTestFinished);
    for (const limit of [2, 3, 4]) {
      writeFileSync(path, many(limit));
      // About as long as it takes until it is read.
      await sleep(500);
    }
    writeFileSync(path, many(0));
    await until(expect.stringContaining("(and 1999 more)"));
    writeFileSync(path, many(5));
    await until(limits(5));
    const seen = told.flatMap((each) => (typeof each === "string" ? [] : [each[0]]));
    expect(seen).toEqual(seen.toSorted());
  });

  it("is read at once when that is asked for", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until, reread } = watch(path, onTestFinished);
    await until([1]);
    writeFileSync(path, yaml(7));
    await reread();
    expect(told.at(-1)).toEqual([7]);
  });

  it("reports again why rules are invalid when a reload is requested", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, until, reread } = watch(path, onTestFinished);
    await until([1]);
    writeFileSync(path, yaml(0));
    await until(expect.stringContaining("limit"));
    await reread();
    expect(told).toEqual([[1], expect.stringContaining("limit"), expect.stringContaining("limit")]);
  });

  it("reports nothing after the watcher is stopped", async ({ onTestFinished }) => {
    const { path } = newFile(onTestFinished);
    const { told, stop } = watch(path, onTestFinished);
    writeFileSync(path, yaml(9));
    stop();
    await sleep(LONG_ENOUGH);
    expect(told).toEqual([]);
  });
});
