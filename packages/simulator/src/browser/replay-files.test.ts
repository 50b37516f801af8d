import { gzipSync } from "node:zlib";
import { fixedWindow } from "headgate";
import { describe, expect, it } from "vitest";
import type { RequestRules } from "../replay/traffic-request.ts";
import { keyTimeline } from "./key-timeline.ts";
import type { NamedBlob } from "./open-file.ts";
import { replayFiles } from "./replay-files.ts";

const rules: RequestRules = { enforced: [{ rule: { name: "api", limit: fixedWindow("2/m") } }], shadow: [] };

function file(name: string, content: string | Uint8Array): NamedBlob {
  return Object.assign(new Blob([typeof content === "string" ? content : new Uint8Array(content)]), { name });
}

function line(second: number, key: string): string {
  return `${JSON.stringify({ time: `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`, key })}\n`;
}

const even = [0, 2, 4].map((second) => line(second, "a")).join("");
const odd = [1, 3, 5].map((second) => line(second, second === 5 ? "b" : "a")).join("");

describe("files in a browser", () => {
  it("are read, plain or gzip, and replayed together", async () => {
    const progress: number[] = [];
    const files = [file("even.jsonl", even), file("odd.jsonl.gz", gzipSync(`${odd}nonsense\n`))];
    const { report, files: summaries } = await replayFiles(files, () => rules, {
      onProgress: (bytes, size) => progress.push(bytes / size),
    });
    expect(report).toMatchObject({ requests: 6, keys: 2, admitted: 3, denied: 3 });
    expect(report.rules[0].hitFirst[0].key).toBe("a");
    expect(summaries).toMatchObject([
      { name: "even.jsonl", format: "json", lines: 3, badLines: 0 },
      { name: "odd.jsonl.gz", format: "json", lines: 4, badLines: 1 },
    ]);
    expect(progress.at(-1)).toBe(1);
    // A worker posts it to the page.
    expect(structuredClone(report)).toEqual(report);
  });

  it("give the timeline of a key", async () => {
    const { entries, more } = await keyTimeline([file("even.jsonl", even), file("odd.jsonl", odd)], () => rules, "a");
    expect(more).toBe(0);
    expect(entries.map(({ allowed, rules: [{ remaining }] }) => [allowed, remaining])).toEqual([
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
      [false, 0],
    ]);
    expect(entries[2].rules[0].retryAfter).toBe(58_000_000);
  });

  it("give the timeline of a key without the rules that deny nothing", async () => {
    const limited = { ...rules, shadow: [{ rule: { name: "trial", limit: fixedWindow("1/h") } }] };
    const { entries } = await keyTimeline([file("even.jsonl", even)], () => limited, "a");
    expect(entries.map(({ allowed, rules }) => [allowed, rules.map(({ remaining }) => remaining)])).toEqual([
      [true, [1]],
      [true, [0]],
      [false, [0]],
    ]);
  });

  it("can be damaged, which is reported with the name of the file", async () => {
    const damaged = gzipSync(even.repeat(100)).subarray(0, 60);
    await expect(replayFiles([file("cut.gz", damaged)], () => rules)).rejects.toThrow(/cut\.gz/);
  });

  it("are not read further when the user has stopped", async () => {
    const stop = new AbortController();
    const files = [file("even.jsonl", even)];
    const onReplayed = (): void => stop.abort(new Error("stopped"));
    await expect(replayFiles(files, () => rules, { signal: stop.signal, onReplayed })).rejects.toThrow("stopped");
  });
});
