import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { ConcurrencyModel, type SlotAnswer } from "../../../test/algorithms/models/concurrency.ts";
import { type SlotRequest, slotTraffic } from "../../../test/algorithms/slot-traffic.ts";
import { Outcome } from "../algorithm.ts";
import { concurrency, definition } from "./index.ts";
import { LeaseSet } from "./lease-set.ts";

const START = 1_700_000_000_123_457;

/** Does with the row what a store does. */
function act(leases: LeaseSet, { action, id, cost, forUs, limit }: SlotRequest, now: number): SlotAnswer {
  const own = concurrency(limit);
  const holder = { id, forUs };
  const asked = new Outcome();
  const after = new Outcome();
  if (action === "extend") definition.extendSlots(own, leases, now, cost, holder, asked);
  else if (action === "release") {
    definition.releaseSlots(leases, now, holder);
    definition.evaluateSlots(own, leases, now, 1, undefined, asked);
  } else definition.evaluateSlots(own, leases, now, cost, holder, asked);
  if (action === "take" && asked.allowed && cost > 0) definition.takeSlots(leases, cost, holder, asked);
  definition.evaluateSlots(own, leases, now, 0, undefined, after);
  const { allowed, retryAfter } = asked;
  return { allowed, inUse: after.level, remaining: after.remaining, retryAfter, resetAfter: after.resetAfter };
}

describe("concurrency", patience, () => {
  it("decides as lists of leases that are searched from front to back", () => {
    const property = fc.property(slotTraffic, fc.boolean(), (traffic, isStored) => {
      let leases = new LeaseSet();
      const model = new ConcurrencyModel();
      let now = START;
      for (const request of traffic) {
        now += request.advance;
        const { action, id, cost, forUs, limit } = request;
        if (action === "reset") {
          leases = new LeaseSet();
          model.reset(limit, now);
          continue;
        }
        const expected =
          action === "release"
            ? model.release(limit, now, id, forUs)
            : action === "peek"
              ? model.peek(limit, now, cost, id)
              : model[action](limit, now, id, cost, forUs);
        expect(act(leases, request, now), JSON.stringify(request)).toEqual(expected);
        // As a store does that keeps the row as text.
        if (isStored) leases = LeaseSet.from(JSON.parse(JSON.stringify(leases.snapshot())));
      }
    });
    fc.assert(property, runs(500));
  });

  it("never has more slots in use than the largest limit, nor any when all leases have ended", () => {
    const property = fc.property(slotTraffic, (traffic) => {
      const leases = new LeaseSet();
      const largest = Math.max(...traffic.map(({ limit }) => limit));
      let now = START;
      for (const request of traffic) {
        now += request.advance;
        if (request.action === "reset") continue;
        expect(act(leases, request, now).inUse).toBeLessThanOrEqual(largest);
      }
      const out = new Outcome();
      definition.evaluateSlots(concurrency(1), leases, leases.blankFrom, 1, undefined, out);
      expect(out).toMatchObject({ allowed: true, remaining: 0, level: 1 });
    });
    fc.assert(property, runs(300));
  });

  it("admits a request after the wait in its denial, and not a microsecond earlier", () => {
    const property = fc.property(slotTraffic, (traffic) => {
      const leases = new LeaseSet();
      let now = START;
      for (const request of traffic) {
        now += Math.abs(request.advance);
        if (request.action !== "reset") act(leases, request, now);
      }
      const out = new Outcome();
      definition.evaluateSlots(concurrency(4), leases, now, 3, undefined, out);
      const { retryAfter } = out;
      if (retryAfter === 0) return;
      definition.evaluateSlots(concurrency(4), leases, now + retryAfter - 1, 3, undefined, out);
      expect(out).toMatchObject({ allowed: false, retryAfter: 1 });
      definition.evaluateSlots(concurrency(4), leases, now + retryAfter, 3, undefined, out);
      expect(out.allowed).toBe(true);
    });
    fc.assert(property, runs(300));
  });

  it("forgets tombstones as new ones are left", () => {
    const leases = new LeaseSet();
    for (let i = 0; i < 10_000; i += 1) {
      definition.releaseSlots(leases, START + 1_000 * i, { id: `r${i}`, forUs: 100_000 });
    }
    expect(leases.size).toBeLessThan(300);
  });
});
