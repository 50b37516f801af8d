import { expect, it } from "vitest";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import { fixedWindow } from "../index.ts";
import { type Notice, Notices } from "../middleware/notices.ts";
import { ManualClock } from "../testing/index.ts";
import { PendingTakes } from "./pending-takes.ts";

it("reports that takes cannot be announced, because the journal fails", async () => {
  const store = new SharedStore(new ManualClock());
  const given: Notice[] = [];
  const groups = [[{ rule: { name: "calls", limit: fixedWindow("5/m") }, key: "a", cost: 1 }]];
  const begin = () => PendingTakes.begin(store, groups, 60_000, new Notices((notice) => given.push(notice)));
  expect(await begin()).toBeInstanceOf(PendingTakes);
  expect(given).toEqual([]);
  store.journal.failure = new Error("is gone");
  expect(await begin()).toBe(undefined);
  expect(given).toMatchObject([{ code: "HG_JOURNAL_FAILED" }]);
});
