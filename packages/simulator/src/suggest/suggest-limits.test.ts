import fc from "fast-check";
import { type Limit, limitFromSpec } from "headgate";
import { describe, expect, it } from "vitest";
import { replay } from "../replay/replay.ts";
import type { TrafficRequest } from "../replay/traffic-request.ts";
import { SpooledRequests } from "./spooled-requests.ts";
import { suggestLimits } from "./suggest-limits.ts";

const START = 1_767_225_600_000_000;

const traffic = fc
  .array(
    fc.record({
      time: fc.integer({ min: 0, max: 30_000_000 }).map((time) => START + time),
      key: fc.constantFrom("a", "b", "c", "d", "e", "f"),
      cost: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 120 },
  )
  .map((all) => all.map((request): TrafficRequest => ({ ...request, path: "/", method: "GET" })));

function spooled(requests: readonly TrafficRequest[]): SpooledRequests {
  const spool = new SpooledRequests();
  for (const { time, key, cost } of requests) spool.add(time, key, cost);
  return spool;
}

async function deniedKeys(limit: Limit, requests: readonly TrafficRequest[]): Promise<number> {
  const rules = { enforced: [{ rule: { name: "api", limit } }], shadow: [] };
  // Lines out of order by the whole log: a replay puts them in order, too.
  return (await replay(requests, () => rules, { latenessMs: 60_000 })).deniedKeys;
}

describe("suggested limits", () => {
  it("deny at most the stated share of keys in a replay, and one unit less denies more", async () => {
    await fc.assert(
      fc.asyncProperty(traffic, fc.constantFrom(0, 0.2, 0.5, 0.9), async (requests, denyAtMost) => {
        const counted = requests.filter(({ cost }) => cost > 0);
        const suggestions = suggestLimits(spooled(counted), { denyAtMost, windowMs: 10_000 });
        const { keys, mayDeny, limits } = suggestions;
        expect({ keys, mayDeny }).toEqual({
          keys: new Set(counted.map(({ key }) => key)).size,
          mayDeny: Math.floor(denyAtMost * keys),
        });
        for (const suggested of limits) {
          const { algorithm, limit, window, burst } = suggested.limit;
          expect(await deniedKeys(suggested.limit, counted)).toBe(suggested.deniedKeys);
          expect(suggested.deniedKeys).toBeLessThanOrEqual(mayDeny);
          const spec = { algorithm, limit, window: window / 1_000_000 };
          if (limit > 1) {
            const smaller = limitFromSpec({ ...spec, limit: limit - 1 });
            expect(await deniedKeys(smaller, counted)).toBeGreaterThan(mayDeny);
          }
          if (burst > 1 && burst !== limit) {
            const smaller = limitFromSpec({ ...spec, burst: burst - 1 });
            expect(await deniedKeys(smaller, counted)).toBeGreaterThan(mayDeny);
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it("are of every algorithm that decides by time", () => {
    const one: TrafficRequest = { time: START, key: "a", path: "/", method: "GET", cost: 3 };
    const { limits } = suggestLimits(spooled([one]), { denyAtMost: 0, windowMs: 1_000 });
    expect(limits.map(({ limit }) => [limit.algorithm, limit.limit, limit.burst])).toMatchInlineSnapshot(`
      [
        [
          "token_bucket",
          3,
          3,
        ],
        [
          "leaky_bucket",
          3,
          3,
        ],
        [
          "gcra",
          3,
          3,
        ],
        [
          "fixed_window",
          3,
          3,
        ],
        [
          "sliding_window_log",
          3,
          3,
        ],
        [
          "sliding_window_counter",
          3,
          3,
        ],
        [
          "bucketed_window",
          3,
          3,
        ],
      ]
    `);
    expect(suggestLimits(spooled([]), { denyAtMost: 0, windowMs: 1_000 })).toEqual({
      keys: 0,
      requests: 0,
      mayDeny: 0,
      limits: [],
    });
  });
});
