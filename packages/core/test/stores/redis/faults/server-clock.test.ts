import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ServerClock } from "../../../../src/stores/server-clock.ts";

/** A server whose clock is `ahead` of ours, and calls that take a given time, in microseconds. */
class Simulation {
  readonly clock = new ServerClock();
  ahead: number;
  private local = 5_000_000;

  constructor(ahead: number) {
    this.ahead = ahead;
    vi.spyOn(performance, "now").mockImplementation(() => this.local / 1_000);
  }

  get serverTime(): number {
    return this.local + this.ahead;
  }

  pass(microseconds: number): void {
    this.local += microseconds;
  }

  call(there: number, back: number): void {
    const sent = this.local;
    this.pass(there);
    const time = this.serverTime;
    this.pass(back);
    this.clock.learn(time, sent, this.local);
  }
}

const EPOCH = 1_700_000_000_000_000;

describe("the server's clock as it is known here", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("is this machine's before any reply, and says that it is not known", () => {
    const clock = new ServerClock();
    expect(clock.isKnown).toBe(false);
    expect(Math.abs(clock.now() - Date.now() * 1_000)).toBeLessThan(1_000_000);
  });

  it("is never behind the server's, nor ahead by more than the way there of the quickest call", () => {
    const duration = fc.integer({ min: 1, max: 500_000 });
    fc.assert(
      fc.property(
        fc.integer({ min: -EPOCH / 2, max: EPOCH }),
        fc.array(fc.tuple(duration, duration), { minLength: 1, maxLength: 20 }),
        (ahead, calls) => {
          const world = new Simulation(ahead);
          for (const [there, back] of calls) world.call(there, back);
          expect(world.clock.isKnown).toBe(true);
          const off = world.clock.now() - world.serverTime;
          expect(off).toBeGreaterThanOrEqual(0);
          // A call long ago counts for less: clocks may have drifted since, by a thousandth of the time.
          const quickest = Math.min(...calls.map(([there]) => there));
          const all = calls.reduce((sum, [there, back]) => sum + there + back, 0);
          expect(off).toBeLessThanOrEqual(quickest + all / 1_000 + 1);
        },
      ),
    );
  });

  it("advances between replies as time does", () => {
    const world = new Simulation(EPOCH);
    world.call(100, 100);
    const before = world.clock.now();
    world.pass(123_456);
    expect(world.clock.now() - before).toBe(123_456);
  });

  it.each([
    ["forward", 3_600_000_000],
    ["back", -3_600_000_000],
    ["forward by a second", 1_000_000],
    ["back by a second", -1_000_000],
  ])("notices with the next reply that the server's clock was set %s", (_, step) => {
    const world = new Simulation(EPOCH);
    for (let i = 0; i < 50; i += 1) world.call(100, 150);
    world.ahead += step;
    world.call(200, 300);
    const off = world.clock.now() - world.serverTime;
    expect(off).toBeGreaterThanOrEqual(0);
    expect(off).toBeLessThanOrEqual(201);
    for (let i = 0; i < 50; i += 1) world.call(100, 150);
    expect(world.clock.now() - world.serverTime).toBeLessThanOrEqual(101 + 15);
  });

  it("follows a server whose clock runs fast or slow by a ten-thousandth", () => {
    for (const drift of [1e-4, -1e-4]) {
      const world = new Simulation(EPOCH);
      for (let i = 0; i < 1_000; i += 1) {
        world.call(100, 150);
        world.pass(100_000);
        world.ahead += 100_000 * drift;
      }
      world.call(100, 150);
      const off = world.clock.now() - world.serverTime;
      expect(off).toBeGreaterThanOrEqual(-1);
      expect(off).toBeLessThanOrEqual(102);
    }
  });
});
