import { describe, expect, it } from "vitest";
import { checkResult, type DecidedLimit } from "../../../test/checks/results.ts";
import { CheckHeaders } from "./check-headers.ts";

type Parts = Partial<DecidedLimit>;

function parts(rule_id: string, remaining: number, fields: Parts = {}): Parts {
  return { rule_id, limit: 100, burst: 100, remaining, resetAfter: 60_000_000, ...fields };
}

function written(limits: readonly Parts[]): Readonly<Record<string, string[]>> {
  const fields = new CheckHeaders().write(checkResult({ limits }));
  return Object.fromEntries(
    fields.map(({ name, value }) => [name.toLowerCase(), [...value.matchAll(/"([^"]*)"/g)].map(([, id]) => id)]),
  );
}

describe("the headers of a check", () => {
  it("state all of 16 limits in the order of the rules", () => {
    const limits = Array.from({ length: 16 }, (_, i) => parts(`r${i}`, 50 - i));
    const ids = limits.map(({ rule_id }) => rule_id);
    expect(written(limits)).toMatchObject({ "ratelimit-policy": ids, ratelimit: ids });
  });

  it("list, of more than 16, the one that decided and the 15 with the least left, in the same order", () => {
    const state = "warning";
    const limits = Array.from({ length: 40 }, (_, i) => parts(`r${i}`, i % 2 === 0 ? 90 : i, { state }));
    // Denied for its cost, though much is left.
    const deciding = parts("deciding", 99, { allowed: false, state, retryAfter: 30_000_000 });
    limits.splice(20, 0, deciding);
    const least = Array.from({ length: 15 }, (_, i) => `r${2 * i + 1}`);
    const ids = [...least.slice(0, 10), "deciding", ...least.slice(10)];
    expect(written(limits)).toMatchObject({
      "ratelimit-policy": ids,
      ratelimit: ids,
      "headgate-state": ids,
    });
  });
});
