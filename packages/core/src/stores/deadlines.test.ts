import { describe, expect, it } from "vitest";
import { ManualClock } from "../testing/index.ts";
import { Deadlines, type Timed } from "./deadlines.ts";

function timed(clock: ManualClock, ended: string[], name: string): Timed {
  return { due: clock.now() + 10_000, before: undefined, after: undefined, expire: () => ended.push(name) };
}

describe("deadlines", () => {
  it("end what is still there, in order, and once", async () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(clock, 10_000);
    const ended: string[] = [];
    const calls = ["a", "b", "c", "d", "e"].map((name) => timed(clock, ended, name));
    for (const call of calls) deadlines.add(call);
    for (const i of [0, 2, 4]) {
      expect(deadlines.delete(calls[i])).toBe(true);
      expect(deadlines.delete(calls[i])).toBe(false);
    }
    await clock.advance(10);
    expect(ended).toEqual(["b", "d"]);
    for (const call of calls) expect(deadlines.delete(call)).toBe(false);
    await clock.advance(100);
    expect(ended).toEqual(["b", "d"]);
  });

  it("are in force again right after they were ended", async () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(clock, 10_000);
    const ended: string[] = [];
    deadlines.add(timed(clock, ended, "before"));
    deadlines.end();
    expect(ended).toEqual(["before"]);
    deadlines.add(timed(clock, ended, "after"));
    await clock.advance(10);
    expect(ended).toEqual(["before", "after"]);
  });
});
