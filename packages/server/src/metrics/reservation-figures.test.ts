import type { ListedReservation } from "headgate/store";
import { expect, it } from "vitest";
import { ReservationFigures } from "./reservation-figures.ts";

function listed(madeAtMs: number, ...checks: readonly [rule: string, cost: number, isSlots: boolean][]) {
  return {
    id: "1",
    owner: "shop",
    madeAtMs,
    deadlineMs: 100_000,
    checks: checks.map(([rule, cost, isSlots]) => ({ rule, key: "user:42", cost, spent: undefined, isSlots })),
  };
}

it("adds up what is reserved by rule, and finds the oldest reservation", async () => {
  const all: ListedReservation[] = [];
  const figures = new ReservationFigures({ list: async () => all, cleanedUp: 3 }, () => 60_000);
  expect(figures.open).toBe(undefined);
  await figures.refresh();
  expect(figures.open).toEqual({ count: 0, oldestSeconds: 0, units: new Map(), slots: new Map() });
  all.push(listed(50_000, ["tokens", 400, false], ["streams", 1, true]));
  all.push(listed(40_000, ["tokens", 100, false], ["spend", 7, false]), listed(70_000, ["streams", 1, true]));
  await figures.refresh();
  expect(figures.open).toEqual({
    count: 3,
    oldestSeconds: 20,
    units: new Map([
      ["tokens", 500],
      ["spend", 7],
    ]),
    slots: new Map([["streams", 2]]),
  });
  expect(figures.cleanedUp).toBe(3);
});

it("has no figures while the store does not answer", async () => {
  let isDown = false;
  const list = async (): Promise<ListedReservation[]> => {
    if (isDown) throw new Error("down");
    return [];
  };
  const figures = new ReservationFigures({ list, cleanedUp: 0 }, () => 0);
  await figures.refresh();
  expect(figures.open).toBeDefined();
  isDown = true;
  await expect(figures.refresh()).rejects.toThrow("down");
  expect(figures.open).toBe(undefined);
});
