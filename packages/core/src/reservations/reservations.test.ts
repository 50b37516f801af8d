import { describe, expect, it, vi } from "vitest";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import {
  type Action,
  type Answer,
  fixedWindow,
  type Limiter,
  type Operation,
  rateLimiter,
  StoreError,
  slidingWindowLog,
} from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";
import { PendingTakes } from "./pending-takes.ts";
import { Reservations } from "./reservations.ts";

const rules = {
  tokens: fixedWindow("100/d"),
  calls: slidingWindowLog("10/d"),
  minute: fixedWindow("100/m"),
};
type Name = keyof typeof rules;
const key = "team";
const down = new StoreError("HG_STORE_UNREACHABLE", "is gone");

/** A store that outlives processes, and processes whose timers run with the clock unless they are stopped. */
class World {
  readonly clock = new ManualClock(86_400_000);
  readonly store = new SharedStore(this.clock);
  private readonly processes = new Map<Limiter<typeof rules>, ManualClock>();

  start(): Limiter<typeof rules> {
    const clock = new ManualClock(this.clock.now() / 1000);
    const limiter = rateLimiter(rules, { store: this.store, clock });
    this.processes.set(limiter, clock);
    // Processes that use reservations clean up.
    limiter.reservation("none").catch(() => {});
    return limiter;
  }

  stop(limiter: Limiter<typeof rules>): void {
    this.processes.delete(limiter);
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await this.clock.advance(500);
      for (const clock of this.processes.values()) await clock.advance(500);
    }
  }

  async used(rule: Name = "tokens"): Promise<number> {
    const limit = rules[rule];
    const [{ remaining }] = await this.store.apply("peek", [{ rule: { name: rule, limit }, key, cost: 0 }]);
    return Math.round(limit.limit - remaining);
  }
}

/** A limiter in memory, and what is used of a rule. */
function inMemory() {
  const { limiter, clock } = testLimiter(rules);
  const used = (rule: Name = "tokens"): number => rules[rule].limit - limiter.peekSync(rule, key).remaining;
  return { limiter, clock, used };
}

function code(name: string, field?: string) {
  return expect.objectContaining(field === undefined ? { code: name } : { code: name, field });
}

describe("a reservation", () => {
  it("takes all of its estimates or none, and names the rules that denied", async () => {
    const { limiter, used } = inMemory();
    const checks = [
      { rule: "tokens", key, cost: 60 },
      { rule: "calls", key },
    ] as const;
    const first = await limiter.reserve(checks);
    expect(first).toMatchObject({ allowed: true, deniedBy: [] });
    expect(first.decisions.map(({ rule, remaining }) => [rule, remaining])).toEqual([
      ["tokens", 40],
      ["calls", 9],
    ]);
    const second = await limiter.reserve(checks);
    expect(second).toMatchObject({ allowed: false, deniedBy: ["tokens"] });
    expect([used(), used("calls")]).toEqual([60, 1]);
    expect(first.id).not.toBe(second.id);
  });

  it("settles with the real costs, less or more; rules that are not named keep their estimates", async () => {
    for (const [cost, left] of [
      [10, 10],
      [60, 60],
      [80, 80],
      [0, 0],
      [150, 100],
    ]) {
      const { limiter, used } = inMemory();
      const reservation = await limiter.reserve([
        { rule: "tokens", key, cost: 60 },
        { rule: "calls", key, cost: 2 },
      ]);
      const verdict = await reservation.settle({ tokens: cost });
      expect([used(), used("calls")]).toEqual([left, 2]);
      expect(verdict.decisions.map(({ rule }) => rule)).toEqual(["tokens", "calls"]);
    }
  });

  it("settles once: the same costs return the first result, others fail and charge nothing", async () => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    const verdict = await reservation.settle({ tokens: 10 });
    expect(await reservation.settle({ tokens: 10 })).toBe(verdict);
    await expect(reservation.settle({ tokens: 11 })).rejects.toThrow(code("HG_RESERVATION_SETTLED", "costs"));
    await expect(reservation.release()).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    await expect(reservation.adjust({ tokens: 70 })).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    await expect(reservation.extend(1_000)).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    expect(reservation.spend("tokens")).toBe(false);
    await reservation[Symbol.asyncDispose]();
    expect(used()).toBe(10);
  });

  it("releases everything, also twice", async () => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    await limiter.check("tokens", key, { cost: 20 });
    await Promise.all([reservation.release(), reservation.release()]);
    expect(used()).toBe(20);
  });

  it("gives nothing back to the next window, but charges what is more", async () => {
    for (const [cost, left] of [
      [10, 50],
      [70, 60],
    ]) {
      const { limiter, clock, used } = inMemory();
      const reservation = await limiter.reserve([{ rule: "minute", key, cost: 60 }]);
      await clock.advance(60_000);
      await limiter.check("minute", key, { cost: 50 });
      await reservation.settle({ minute: cost });
      expect(used("minute")).toBe(left);
    }
  });

  it("spends locally, up to what is reserved", async () => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 10 }]);
    expect([4, 6, 1, 0].map((units) => reservation.spend("tokens", units))).toEqual([true, true, false, true]);
    expect(used()).toBe(10);
  });

  it.each([
    ["nothing was spent", 0, [0, 0]],
    ["something was spent", 7, [7, 2]],
  ] as const)("that is disposed without settling costs what was spent: %s", async (_name, spent, left) => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([
      { rule: "tokens", key, cost: 10 },
      { rule: "calls", key, cost: 2 },
    ]);
    if (spent > 0) reservation.spend("tokens", spent);
    await reservation[Symbol.asyncDispose]();
    expect([used(), used("calls")]).toEqual(left);
  });

  it("adjusts what is reserved, all or nothing", async () => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([
      { rule: "tokens", key, cost: 10 },
      { rule: "calls", key, cost: 5 },
    ]);
    expect(await reservation.adjust({ tokens: 30, calls: 2 })).toMatchObject({ allowed: true });
    expect([used(), used("calls")]).toEqual([30, 2]);
    await limiter.check("tokens", key, { cost: 60 });
    expect(await reservation.adjust({ tokens: 41, calls: 1 })).toMatchObject({ allowed: false, deniedBy: ["tokens"] });
    expect([used(), used("calls")]).toEqual([90, 2]);
    expect(reservation.spend("tokens", 30)).toBe(true);
    expect(reservation.spend("tokens")).toBe(false);
    await reservation.adjust({ tokens: 40 });
    expect(reservation.spend("tokens", 10)).toBe(true);
    await reservation.settle({ tokens: 35 });
    expect([used(), used("calls")]).toEqual([95, 2]);
  });

  it("that was adjusted in a later window gives back only what was taken there", async () => {
    const { limiter, clock, used } = inMemory();
    const reservation = await limiter.reserve([{ rule: "minute", key, cost: 60 }]);
    await clock.advance(60_000);
    await reservation.adjust({ minute: 80 });
    expect(used("minute")).toBe(20);
    await reservation.settle({ minute: 65 });
    expect(used("minute")).toBe(5);
  });

  it("can be found by its id in the same process, and ends there too", async () => {
    const { limiter, used } = inMemory();
    const { id } = await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    const found = await limiter.reservation(id, { key });
    expect(found).toMatchObject({ id, allowed: true });
    await found.settle({ tokens: 10 });
    await (await limiter.reservation(id)).settle({ tokens: 10 });
    await expect((await limiter.reservation(id)).settle({ tokens: 9 })).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    expect(used()).toBe(10);
  });

  it("keeps the estimate of a rule whose name every object has as a property", async () => {
    const clock = new ManualClock();
    const store = new SharedStore(clock);
    const apply = vi.spyOn(store, "apply");
    const limiter = rateLimiter({ constructor: fixedWindow("100/d") }, { store, clock });
    const reservation = await limiter.reserve([{ rule: "constructor", key, cost: 60 }]);
    await reservation.settle();
    expect(apply.mock.lastCall?.[1]).toMatchObject([{ cost: 60 }]);
  });

  it("of several keys of one rule costs the same for each", async () => {
    const { limiter } = inMemory();
    const checks = ["a", "b"].map((each) => ({ rule: "tokens", key: each, cost: 60 }) as const);
    const reservation = await limiter.reserve(checks);
    await reservation.settle({ tokens: 10 });
    expect(["a", "b"].map((each) => limiter.peekSync("tokens", each).remaining)).toEqual([90, 90]);
  });

  it("reports its decisions", async () => {
    const onDecision = vi.fn();
    const limiter = rateLimiter(rules, { onDecision });
    await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    expect(onDecision).toHaveBeenCalledWith(expect.objectContaining({ rule: "tokens" }), { key, admitted: true });
  });
});

describe("a reservation that was denied", () => {
  it("has nothing to settle, and disposing it is harmless", async () => {
    const { limiter, used } = inMemory();
    await limiter.check("tokens", key, { cost: 90 });
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 20 }]);
    expect(reservation.spend("tokens")).toBe(false);
    for (const use of [() => reservation.settle(), () => reservation.extend(1_000), () => reservation.adjust({})]) {
      await expect(use()).rejects.toThrow(code("HG_NOT_RESERVED"));
    }
    await reservation.release();
    await reservation[Symbol.asyncDispose]();
    expect(used()).toBe(90);
  });
});

describe("bad input", () => {
  const tokens = { rule: "tokens", key, cost: 10 } as const;

  it.each<[string, string, (limiter: Limiter<typeof rules>) => unknown]>([
    ["HG_BAD_COST", "checks[1].cost", (l) => l.reserve([tokens, { rule: "calls", key, cost: 11 }])],
    ["HG_BAD_COST", "checks[0].cost", (l) => l.reserve([{ ...tokens, cost: Number.NaN }])],
    ["HG_BAD_CHECKS", "checks", (l) => l.reserve([])],
    ["HG_BAD_CHECKS", "checks[1]", (l) => l.reserve([tokens, tokens])],
    ["HG_UNKNOWN_RULE", "rule", (l) => l.reserve([{ ...tokens, rule: "other" as "tokens" }])],
    ["HG_BAD_OPTION", "forMs", (l) => l.reserve([tokens], { forMs: 0 })],
    ["HG_BAD_OPTION", "forMs", (l) => l.reserve([tokens], { forMs: 3_600_001 })],
    ["HG_BAD_OPTION", "maxWaitMs", (l) => l.reserve([tokens], { maxWaitMs: -1 })],
    ["HG_BAD_OPTION", "signal", (l) => l.reserve([tokens], { signal: "now" as never })],
    ["HG_BAD_OPTION", "options.for", (l) => l.reserve([tokens], { for: 1 } as never)],
    ["HG_UNKNOWN_RESERVATION", "id", (l) => l.reservation("unknown")],
    ["HG_UNKNOWN_RESERVATION", "id", (l) => l.reservation(7 as never)],
    ["HG_NOT_CONCURRENT", "rule", (l) => l.run("tokens", key, () => 1)],
  ])("fails with %s at %s, and nothing is charged", async (name, field, make) => {
    const { limiter, used } = inMemory();
    await expect(Promise.resolve().then(() => make(limiter))).rejects.toThrow(code(name, field));
    expect([used(), used("calls")]).toEqual([0, 0]);
  });

  it.each<[string, string, (reservation: Awaited<ReturnType<Limiter<typeof rules>["reserve"]>>) => unknown]>([
    ["HG_BAD_COST", "costs.tokens", (r) => r.settle({ tokens: -1 })],
    ["HG_BAD_COST", "costs", (r) => r.settle(5 as never)],
    ["HG_UNKNOWN_RULE", "costs.calls", (r) => r.settle({ calls: 1 })],
    ["HG_BAD_COST", "cost", (r) => r.spend("tokens", 1.5)],
    ["HG_UNKNOWN_RULE", "rule", (r) => r.spend("calls")],
    ["HG_BAD_COST", "costs.tokens", (r) => r.adjust({ tokens: 101 })],
    ["HG_BAD_OPTION", "ms", (r) => r.extend(0)],
  ])("fails with %s at %s, and the reservation stays as it is", async (name, field, use) => {
    const { limiter, used } = inMemory();
    const reservation = await limiter.reserve([tokens]);
    await expect(Promise.resolve().then(() => use(reservation))).rejects.toThrow(code(name, field));
    expect(used()).toBe(10);
    await reservation.settle({ tokens: 4 });
    expect(used()).toBe(4);
  });

  it("an id of another key is as unknown as no id", async () => {
    const { limiter } = inMemory();
    const { id } = await limiter.reserve([tokens]);
    await expect(limiter.reservation(id, { key: "other" })).rejects.toThrow(code("HG_UNKNOWN_RESERVATION", "id"));
  });
});

describe("a reservation in another process", () => {
  it("that has expired is unknown, and nothing is charged", async () => {
    const world = new World();
    const [dying, other] = [world.start(), world.start()];
    const { id } = await dying.reserve([{ rule: "tokens", key, cost: 60 }], { forMs: 5_000 });
    world.stop(dying);
    const found = await other.reservation(id);
    await world.clock.advance(5_000);
    await expect(other.reservation(id)).rejects.toThrow(code("HG_UNKNOWN_RESERVATION", "id"));
    await world.pass(10_000);
    await expect(found.settle({ tokens: 10 })).rejects.toThrow(code("HG_RESERVATION_LOST"));
    expect(await world.used()).toBe(0);
  });

  it("is settled there by its id, once, and its own process learns of it", async () => {
    const world = new World();
    const [one, other] = [world.start(), world.start()];
    const reservation = await one.reserve([{ rule: "tokens", key, cost: 60 }]);
    const found = await other.reservation(reservation.id, { key });
    await found.settle({ tokens: 10 });
    expect(await world.used()).toBe(10);
    await world.pass(20_000);
    expect(reservation.signal.aborted).toBe(true);
    await expect(reservation.settle({ tokens: 20 })).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    // A third process repeats what the second one did.
    const third = world.start();
    await (await third.reservation(reservation.id)).settle({ tokens: 10 });
    await expect((await third.reservation(reservation.id)).release()).rejects.toThrow(code("HG_RESERVATION_SETTLED"));
    expect(await world.used()).toBe(10);
  });

  it("knows what was adjusted since it was found", async () => {
    const world = new World();
    const [one, other] = [world.start(), world.start()];
    const reservation = await one.reserve([{ rule: "tokens", key, cost: 20 }]);
    const found = await other.reservation(reservation.id);
    await reservation.adjust({ tokens: 50 });
    await world.pass(20_000);
    await found.settle({ tokens: 30 });
    expect(await world.used()).toBe(30);
  });

  it("can be extended there when its own process is gone", async () => {
    const world = new World();
    const [dying, other] = [world.start(), world.start()];
    const { id } = await dying.reserve([{ rule: "tokens", key, cost: 60 }]);
    world.stop(dying);
    await world.pass(50_000);
    await (await other.reservation(id)).extend(120_000);
    await world.pass(100_000);
    expect(await world.used()).toBe(60);
    await world.pass(30_000);
    expect(await world.used()).toBe(0);
    await expect((await other.reservation(id)).settle({ tokens: 5 })).rejects.toThrow(code("HG_RESERVATION_LOST"));
    expect(await world.used()).toBe(0);
  });
});

describe("a process that dies", () => {
  it("leaves what it had spent at its last renewal, and the estimates of rules without spending", async () => {
    const world = new World();
    const [dying] = [world.start(), world.start()];
    const reservation = await dying.reserve([
      { rule: "tokens", key, cost: 60 },
      { rule: "calls", key, cost: 3 },
    ]);
    reservation.spend("tokens", 25);
    await world.pass(12_000);
    reservation.spend("tokens", 5);
    world.stop(dying);
    await world.pass(70_000);
    expect([await world.used(), await world.used("calls")]).toEqual([25, 3]);
    expect(world.store.journal.size).toBe(0);
  });

  it("has its quota back when the store had failed while it settled: with the settled cost", async () => {
    const world = new World();
    const [dying] = [world.start(), world.start()];
    const reservation = await dying.reserve([{ rule: "tokens", key, cost: 60 }]);
    world.store.failure = { error: down };
    await expect(reservation.settle({ tokens: 10 })).rejects.toThrow(down);
    await world.pass(12_000);
    world.stop(dying);
    world.store.failure = undefined;
    await world.pass(70_000);
    expect(await world.used()).toBe(10);
  });

  it("has its quota back although many that expired before it cannot be ended", async () => {
    const world = new World();
    const first = world.start();
    world.start();
    const isUnreachable = new Set<string>();
    for (let i = 0; i < 100; i += 1) await first.reserve([{ rule: "calls", key: `${i}` }], { forMs: 2_000 });
    await first.reserve([{ rule: "tokens", key, cost: 60 }], { forMs: 2_500 });
    for (let i = 0; i < 100; i += 1) isUnreachable.add(`${i}`);
    const apply = world.store.apply.bind(world.store);
    vi.spyOn(world.store, "apply").mockImplementation((action, operations, options) => {
      return operations.some((operation) => isUnreachable.has(operation.key))
        ? Promise.reject(down)
        : apply(action, operations, options);
    });
    world.stop(first);
    await world.pass(7_500);
    expect(await world.used()).toBe(0);
    isUnreachable.clear();
    await world.pass(5_000);
    expect(world.store.journal.size).toBe(0);
  });

  it("loses no adjustment, whether or not it was carried out", async () => {
    for (const afterwards of [false, true]) {
      const world = new World();
      const [dying] = [world.start(), world.start()];
      const reservation = await dying.reserve([{ rule: "tokens", key, cost: 20 }]);
      world.store.failure = { error: down, afterwards };
      await expect(reservation.adjust({ tokens: 70 })).rejects.toThrow(down);
      world.store.failure = undefined;
      expect(await world.used()).toBe(afterwards ? 70 : 20);
      world.stop(dying);
      await world.pass(70_000);
      expect(await world.used()).toBe(0);
    }
  });

  it("and was only frozen cannot settle what another has released, and learns it by the signal", async () => {
    const world = new World();
    const [frozen] = [world.start(), world.start()];
    const reservation = await frozen.reserve([{ rule: "tokens", key, cost: 60 }]);
    world.stop(frozen);
    await world.pass(70_000);
    expect(await world.used()).toBe(0);
    await expect(reservation.settle({ tokens: 10 })).rejects.toThrow(code("HG_RESERVATION_LOST"));
    expect(await world.used()).toBe(0);
  });
});

describe("a reservation of a process that lives", () => {
  it("is extended with all others in one call", async () => {
    const world = new World();
    const limiter = world.start();
    for (let i = 0; i < 50; i += 1) await limiter.reserve([{ rule: "tokens", key: `${key}${i}`, cost: 60 }]);
    world.store.journal.calls.length = 0;
    await world.pass(60_000);
    expect(world.store.journal.calls.filter((name) => name === "extend").length).toBeLessThanOrEqual(6);
    expect(world.store.journal.size).toBe(50);
  });

  it("is settled when the store is back, even without further calls", async () => {
    const world = new World();
    const limiter = world.start();
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    world.store.failure = { error: down };
    await expect(reservation.settle({ tokens: 10 })).rejects.toThrow(down);
    world.store.failure = undefined;
    await world.pass(5_000);
    expect(await world.used()).toBe(10);
    await reservation.settle({ tokens: 10 });
    expect(await world.used()).toBe(10);
  });

  it("is settled once when the store is back, however often that failed before", async () => {
    const world = new World();
    const [first, second] = [world.start(), world.start()];
    const { id } = await first.reserve([{ rule: "tokens", key, cost: 60 }], { forMs: 3_600_000 });
    world.store.refused = "settle";
    for (let i = 0; i < 200; i += 1) {
      const found = await second.reservation(id);
      await expect(found.settle({ tokens: 40 })).rejects.toThrow("is gone");
    }
    world.store.refused = undefined;
    world.store.actions.length = 0;
    world.stop(first);
    await world.pass(5_000);
    expect(world.store.actions.filter((action) => action === "settle")).toHaveLength(1);
    expect(await world.used()).toBe(40);
  });

  it("is listed, however many takes of checks are pending", async () => {
    const { store, clock } = new World();
    const reservations = new Reservations(store, { clock });
    const operation = { rule: { name: "tokens", limit: rules.tokens }, key, cost: 1 };
    const pending = Array.from({ length: 50 }, () => [operation]);
    expect(await PendingTakes.begin(store, pending, 60_000)).toBeDefined();
    const { id } = await reservations.reserve([operation], { isUnattended: true });
    for (let i = 0; i < 3; i += 1) await reservations.reserve([operation], { isUnattended: true, forMs: 120_000 });
    expect((await reservations.list(1)).map((listed) => listed.id)).toEqual([id]);
    expect(await reservations.list(10)).toHaveLength(4);
    reservations.close();
  });

  it("is listed with thousands of others without blocking other work", async () => {
    const { store, clock } = new World();
    const reservations = new Reservations(store, { clock });
    const rule = { name: "tokens", limit: rules.tokens };
    await reservations.reserve([{ rule, key, cost: 1 }], { isUnattended: true });
    const [entry] = await store.journal.list(1);
    vi.spyOn(store.journal, "list").mockResolvedValue(Array.from({ length: 10_000 }, () => entry));
    let turns = 0;
    const other = setInterval(() => {
      turns += 1;
    }, 1);
    expect(await reservations.list(10_000)).toHaveLength(10_000);
    clearInterval(other);
    reservations.close();
    expect(turns).toBeGreaterThan(1);
  });

  it("is written again if the journal has lost it", async () => {
    const world = new World();
    const [limiter] = [world.start(), world.start()];
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 60 }]);
    await world.store.journal.end([{ id: reservation.id }]);
    await world.pass(12_000);
    world.stop(limiter);
    await world.pass(70_000);
    expect(await world.used()).toBe(0);
  });

  it("is in the journal before its quota is taken", async () => {
    const world = new World();
    const sizes: number[] = [];
    const apply = world.store.apply.bind(world.store);
    world.store.apply = async (
      action: Action,
      operations: readonly Operation[],
      options,
    ): Promise<readonly Answer[]> => {
      if (action === "take") sizes.push(world.store.journal.size);
      return apply(action, operations, options);
    };
    await world.start().reserve([{ rule: "tokens", key, cost: 60 }]);
    expect(sizes).toEqual([1]);
  });
});

describe("a reservation that waits", () => {
  const all = { rule: "tokens", key, cost: 100 } as const;

  it("is served when quota is released, first come first served", async () => {
    const { limiter, clock } = inMemory();
    const first = await limiter.reserve([all]);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (place) => {
      const reservation = await limiter.reserve([all], { maxWaitMs: 100_000_000 });
      order.push(place);
      return reservation;
    });
    await clock.advance(0);
    await first.release();
    const second = await waiting[0];
    expect(second.decisions[0].queued).toBe(1);
    await second.release();
    await (await waiting[1]).release();
    expect((await waiting[2]).allowed).toBe(true);
    expect(order).toEqual([1, 2, 3]);
  });

  it("returns the denial when it would take longer than it may", async () => {
    const { limiter, clock } = inMemory();
    await limiter.reserve([all]);
    const [first, second] = [1, 2].map(() => limiter.reserve([{ ...all, cost: 1 }], { maxWaitMs: 1_000 }));
    await clock.advance(1_000);
    expect(await first).toMatchObject({ allowed: false, deniedBy: ["tokens"] });
    expect((await second).allowed).toBe(false);
  });

  it("waits for time to pass", async () => {
    const { limiter, clock } = inMemory();
    await limiter.reserve([all]);
    const reservation = limiter.reserve([{ ...all, cost: 1 }], { maxWaitMs: 86_400_000 });
    await clock.advance(86_400_000);
    expect((await reservation).allowed).toBe(true);
  });

  it("ends with the reason of its signal, and nothing stays reserved", async () => {
    const { limiter, used } = inMemory();
    const first = await limiter.reserve([all]);
    const controller = new AbortController();
    const reservation = limiter.reserve([all], { maxWaitMs: 100_000_000, signal: controller.signal });
    const reason = new Error("the client has left");
    controller.abort(reason);
    await expect(reservation).rejects.toBe(reason);
    await expect(limiter.reserve([all], { signal: controller.signal })).rejects.toBe(reason);
    await first.release();
    expect(used()).toBe(0);
  });
});
