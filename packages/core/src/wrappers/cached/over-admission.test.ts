import fc from "fast-check";
import { expect, it } from "vitest";
import { operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore } from "../../../test/wrappers/cached/distant-store.ts";
import { type Admission, byWindow, overAdmissionBound, unitsOf } from "../../../test/wrappers/cached/over-admission.ts";
import { cached, fixedWindow } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const WINDOW_MS = 1_000;

interface Run {
  readonly nodes: number;
  readonly limit: number;
  readonly flushMs: number;
  readonly roundTripMs: number;
  readonly confirm: boolean;
  readonly read: boolean;
  readonly traffic: readonly { readonly node: number; readonly pauseMs: number; readonly units: number }[];
}

const runs: fc.Arbitrary<Run> = fc.record({
  nodes: fc.integer({ min: 1, max: 5 }),
  limit: fc.integer({ min: 1, max: 60 }),
  flushMs: fc.integer({ min: 0, max: 60 }),
  roundTripMs: fc.integer({ min: 0, max: 80 }),
  confirm: fc.boolean(),
  read: fc.boolean(),
  traffic: fc.array(
    fc.record({
      node: fc.nat({ max: 4 }),
      pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 })),
      units: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5 })),
    }),
    { maxLength: 400, size: "max" },
  ),
});

/** While the store is asked whether a denial holds, more is admitted and written, which the answer does not include. */
const answerFromBeforeAWrite: Run = {
  ...{ nodes: 1, limit: 3, flushMs: 0, roundTripMs: 1, confirm: false, read: true },
  traffic: [0, 2, 0, 0, 0, 0].map((pauseMs, i) => ({ node: 0, pauseMs, units: i === 4 ? 3 : 1 })),
};

/** A write reaches the store when its window has closed, just before the next window fills up. */
const writeAtTheEndOfAWindow: Run = {
  ...{ nodes: 1, limit: 10, flushMs: 0, roundTripMs: 2, confirm: true, read: false },
  traffic: [180, 122, 39, 196, 160, 196, 92, 14, 1, 0, 0, 4].map((pauseMs, i) => {
    return { node: 0, pauseMs, units: i === 8 || i === 9 ? 5 : 1 };
  }),
};

/** What N nodes over one store admit. */
async function simulate({ nodes, limit, flushMs, roundTripMs, confirm, read, traffic }: Run): Promise<Admission[]> {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, roundTripMs);
  const stores = Array.from({ length: nodes }, () => cached(store, { clock, flushMs, confirm, read }));
  const each = rule("each", fixedWindow({ limit, windowMs: WINDOW_MS }));
  const letIn: Admission[] = [];
  const take = async (node: number, units: number): Promise<void> => {
    const [{ allowed, source }] = await stores[node].apply("take", [operation(each, "k", units)]);
    // What the store decides, it decides in the middle of the round trip.
    const decidedMs = clock.now() / 1000 - (source === "store" ? roundTripMs / 2 : 0);
    if (allowed) letIn.push({ node, at: decidedMs, units });
  };
  const decided: Promise<void>[] = [];
  for (const { node, pauseMs, units } of traffic) {
    await clock.advance(pauseMs);
    decided.push(take(node % nodes, units));
  }
  await clock.advance(WINDOW_MS);
  await Promise.all(decided);
  return letIn.sort((a, b) => a.at - b.at);
}

it("nodes admit over the limit at most what arrives while a flush waits and travels, and N − 1 limits", async () => {
  let [windows, over, full] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(runs, async (run) => {
      const { nodes, limit, flushMs, roundTripMs } = run;
      const lagsMs = Array<number>(nodes).fill(flushMs + roundTripMs);
      for (const letIn of byWindow(await simulate(run), WINDOW_MS).values()) {
        const excess = unitsOf(letIn) - limit;
        expect(excess).toBeLessThanOrEqual(overAdmissionBound(letIn, limit, lagsMs));
        windows += 1;
        if (excess > 0) over += 1;
        if (excess > 0 && excess === (nodes - 1) * limit) full += 1;
      }
    }),
    { numRuns: 200 },
  );
  // Else nothing was proved: there must have been too many, and N − 1 limits too many, too.
  expect(over).toBeGreaterThan(windows / 20);
  expect(full).toBeGreaterThan(0);
});

it("a single process never admits too many", async () => {
  await fc.assert(
    fc.asyncProperty(runs, async (run) => {
      const letIn = await simulate({ ...run, nodes: 1 });
      for (const window of byWindow(letIn, WINDOW_MS).values()) expect(unitsOf(window)).toBeLessThanOrEqual(run.limit);
    }),
    { numRuns: 50, examples: [[answerFromBeforeAWrite], [writeAtTheEndOfAWindow]] },
  );
});
