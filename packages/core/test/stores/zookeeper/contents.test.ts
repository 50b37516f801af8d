import fc from "fast-check";
import type { Stat } from "node-zookeeper-client";
import { describe, expect, it } from "vitest";
import { Outcome } from "../../../src/algorithms/algorithm.ts";
import { definition } from "../../../src/algorithms/concurrency/index.ts";
import { concurrency, gcra } from "../../../src/index.ts";
import { LeaderClock } from "../../../src/stores/zookeeper/leader-clock.ts";
import { answeredText, contentsOf, rowText } from "../../../src/stores/zookeeper/znode-contents.ts";
import { type LeaseContents, LeaseDraft } from "../../../src/stores/zookeeper/znode-leases.ts";

const time = new LeaderClock(undefined);
const VOID_FROM = 1_700_000_000_000_000;
const summary = { limit: gcra("10/m"), remaining: 7, now: VOID_FROM - 1 };
const cell = fc.oneof(
  fc.double({ noNaN: true }).map((value) => value + 0),
  fc.integer(),
);
const row = fc.array(cell, { minLength: 2, maxLength: 40 }).map((cells) => Float64Array.from(cells));

/** As ZooKeeper would return it for a znode that was written at a time, in milliseconds. */
function written(ms: number): Stat {
  const long = Buffer.alloc(8);
  const mtime = Buffer.alloc(8);
  mtime.writeBigInt64BE(BigInt(ms));
  const counts = { version: 3, cversion: 0, aversion: 0, dataLength: 0, numChildren: 0 };
  return { czxid: long, mzxid: long, ctime: long, mtime, ephemeralOwner: long, pzxid: long, ...counts };
}

describe("what a znode holds", () => {
  it("is the very row that was written, if it came in time, and else the very row before it", () => {
    fc.assert(
      fc.property(row, row, (after, before) => {
        const text = rowText(after, before, VOID_FROM, VOID_FROM, summary);
        const inTime = contentsOf("/a", text, written(VOID_FROM / 1_000 - 1), time);
        expect(inTime).toEqual({ row: after, expires: VOID_FROM });
        const late = contentsOf("/a", text, written(VOID_FROM / 1_000), time);
        expect(late).toEqual({ row: before, expires: VOID_FROM });
      }),
    );
  });

  it("says of the row before only in what it differed", () => {
    const before = Float64Array.from({ length: 1_000 }, (_, i) => i + 0.1);
    const after = before.slice();
    after[500] = -1;
    const { undo } = JSON.parse(rowText(after, before, VOID_FROM, VOID_FROM, summary).toString());
    expect(undo).toEqual([1_000, 500, 500.1]);
  });

  it("is the leases that were written, if they came in time, and else those before", () => {
    const limit = concurrency(9);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.integer({ min: 1, max: 3 }), fc.boolean())), (tasks) => {
        let contents: LeaseContents = { leases: undefined, expires: 0 };
        for (const [id, cost, ends] of tasks) {
          const draft = new LeaseDraft(definition, contents);
          const holder = { id, forUs: 10 };
          draft.use(limit);
          if (ends) draft.release(VOID_FROM - 10, holder);
          else draft.extend(limit, cost, VOID_FROM - 10, new Outcome(), holder);
          const { text, contents: after, undone } = draft.written(VOID_FROM, VOID_FROM - 10);
          expect(contentsOf("/a", text, written(VOID_FROM / 1_000 - 1), time)).toEqual(after);
          expect(contentsOf("/a", text, written(VOID_FROM / 1_000), time)).toEqual(undone);
          expect(undone.leases).toEqual(contents.leases);
          contents = after;
        }
      }),
    );
  });

  it.each([
    { latest: "1", held: [], released: [] },
    { latest: 1, held: [["a", 1]], released: [] },
    { latest: 1, held: [], released: [[1, 2]] },
    [],
  ])("is unusable if its leases are %j", (leases) => {
    const text = Buffer.from(JSON.stringify({ leases, expires_us: VOID_FROM }));
    expect(() => contentsOf("/a", text, written(1), time)).toThrow(/does not contain what the store wrote/);
  });

  it("is the answers that were given, if they came in time, and else none", () => {
    const answer = fc.record({
      time: fc.constant(VOID_FROM - 5_001),
      allowed: fc.boolean(),
      remaining: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      retryAfter: fc.constantFrom(0, 1.5, Number.POSITIVE_INFINITY),
      resetAfter: fc.nat(),
      source: fc.constant("store" as const),
      degraded: fc.constant(false),
    });
    fc.assert(
      fc.property(fc.array(answer), fc.string(), (answers, request) => {
        const answered = { request, answers, until: VOID_FROM };
        const text = answeredText(answered, VOID_FROM);
        expect(contentsOf("/a", text, written(VOID_FROM / 1_000 - 1), time).answered).toEqual(answered);
        expect(contentsOf("/a", text, written(VOID_FROM / 1_000), time).answered).toBeUndefined();
      }),
    );
  });
});
