import { describe, expect, it, vi } from "vitest";
import { parseAside } from "./parse-in-worker.ts";
import { parseRules } from "./rules-file.ts";
import { RulesFileError } from "./rules-file-error.ts";
import * as threads from "./worker-call.ts";

vi.mock(import("./worker-call.ts"), { spy: true });

/** Too large to be read here. */
function text(limits: readonly (number | string)[]): string {
  const rules = limits.map(
    (limit, i) => `  - {name: R${i}, dimension: ip, endpoint_pattern: /r${i}, limit: ${limit}, window_seconds: 60}`,
  );
  return `rules:\n${rules.join("\n")}\n`;
}

const MANY = Array.from({ length: 1_000 }, (_, i) => i + 1);

/** What it fails with. */
async function errorOf(reading: Promise<unknown>): Promise<unknown> {
  return reading.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a large rules file", () => {
  it("is read by another thread as it is read here", async () => {
    expect(await parseAside(text(MANY), "rules.yaml")).toEqual(parseRules(text(MANY), "rules.yaml"));
  });

  it("is refused with all that is wrong, and where", async () => {
    const bad = text(MANY.map((limit) => (limit % 300 === 0 ? "none" : limit)));
    const error = await errorOf(parseAside(bad, "rules.yaml"));
    expect(error).toBeInstanceOf(RulesFileError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^rules\.yaml:301:\d+: rules\[299\]\.limit: must be .* \(and 2 more\)$/),
      problems: [{ line: 301 }, { line: 601 }, { line: 901, field: "rules[899].limit" }],
    });
  });

  it("stops being read when its caller no longer waits for it", async () => {
    const giveUp = new AbortController();
    const reading = parseAside(text(MANY), "rules.yaml", giveUp.signal);
    giveUp.abort();
    expect(await errorOf(reading)).toMatchObject({ name: "AbortError" });
  });
});

describe("a large file that waits for another", () => {
  it("leaves the queue at once when it is aborted", async () => {
    let finish = () => {};
    vi.mocked(threads.askThread).mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          finish = () => resolve({ answer: "rules" as never, parts: [] });
        }),
    );
    const leaving = new AbortController();
    const reading = parseAside(text(MANY), "first.yaml");
    const waiting = parseAside(text(MANY), "second.yaml", leaving.signal);
    leaving.abort();
    // The first is still being read.
    expect(await errorOf(waiting)).toMatchObject({ name: "AbortError" });
    finish();
    expect(await reading).toEqual([]);
    expect(await parseAside(text(MANY), "last.yaml")).toHaveLength(MANY.length);
  });
});
