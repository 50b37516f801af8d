import * as fc from "fast-check";
import { expect, test } from "vitest";
import { concurrency } from "../algorithms/concurrency/index.ts";
import { Decision } from "../limiter/decision.ts";
import { Verdict } from "../limiter/verdict.ts";
import { OpenReservation } from "./open-reservation.ts";
import { OpenReservations } from "./open-reservations.ts";
import { ReservationState } from "./reservation-state.ts";

const limit = concurrency(1);
const answer = { allowed: true, remaining: 0, retryAfter: 0, resetAfter: 0 };
const verdict = new Verdict([new Decision({ name: "slots", limit }, 1, answer, 0, "store", false, limit)]);
const kind = { isJournalled: false, isPrivate: true, isUnattended: false, isDegraded: false, isForeign: false };

function reservation(id: string): OpenReservation {
  return new OpenReservation(new ReservationState(id, 1_000, []), verdict, kind, 0);
}

test("they are found and listed as in a map, in the order in which they were added", () => {
  const step = fc.record({ isAdded: fc.boolean(), id: fc.integer({ min: 0, max: 60 }).map(String) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const all = new OpenReservations();
      const model = new Map<string, OpenReservation>();
      for (const { isAdded, id } of steps) {
        model.delete(id);
        if (isAdded) {
          const open = reservation(id);
          model.set(id, open);
          all.add(open);
        } else all.delete(id);
        expect(all.get(id)).toBe(model.get(id));
        expect(all.size).toBe(model.size);
        expect(all.oldest).toBe([...model.values()][0]);
      }
      expect(all.values()).toEqual([...model.values()]);
      for (const open of model.values()) expect(all.get(open.name)).toBe(open);
    }),
  );
});

test("one that was deleted refers to no other", () => {
  const all = new OpenReservations();
  const [first, second, third] = ["a", "b", "c"].map(reservation);
  for (const open of [first, second, third]) all.add(open);
  all.delete("b");
  expect([second.before, second.after, second.nextInBucket]).toEqual([undefined, undefined, undefined]);
  expect(all.values()).toEqual([first, third]);
});
