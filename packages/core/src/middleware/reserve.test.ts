import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { ann, passed, refused } from "../../test/middleware/test-middleware.ts";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import { cached, fixedWindow, type Limiter, rateLimiter, resilient, type Store, StoreError } from "../index.ts";
import { ManualClock } from "../testing/index.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";
import type { Notice } from "./notices.ts";

const rules = {
  tokens: fixedWindow("100/h"),
  calls: fixedWindow("10/h"),
  minute: fixedWindow("100/m"),
  many: fixedWindow("10000/h"),
  day: fixedWindow("100/d"),
};
type Name = keyof typeof rules;
const key = "ip:1.2.3.4";
const down = new StoreError("HG_STORE_UNREACHABLE", "is gone");
const ok = { status: 200, aborted: false };
const broken = { status: 500, aborted: false };
const reserving: MiddlewareOptions<Name, TestRequest>["rules"] = ["calls", { rule: "tokens", reserve: 60 }];

/** A process, whose timers run as its own clock is advanced: as long as that stands still it is frozen, or dead. */
class Process {
  readonly clock: ManualClock;
  readonly notices: Notice[] = [];
  readonly limiter: Limiter<typeof rules>;
  readonly gate: RateLimitMiddleware<typeof rules, TestRequest>;

  constructor(store: Store, now: ManualClock, options: Partial<MiddlewareOptions<Name, TestRequest>> = {}) {
    this.clock = new ManualClock(now.now() / 1000);
    this.limiter = rateLimiter(rules, { store, clock: this.clock });
    const onNotice = (notice: Notice): number => this.notices.push(notice);
    this.gate = new RateLimitMiddleware(
      this.limiter,
      { rules: reserving, proxies: 0, clock: this.clock, onNotice, ...options },
      testAdapter,
    );
  }

  async reserve(request: TestRequest = { ...ann }) {
    return passed(await this.gate.admit(request));
  }
}

class World {
  readonly clock = new ManualClock(86_400_000_000);
  readonly store = new SharedStore(this.clock);
  private readonly alive = new Set<Process>();

  start(options?: Partial<MiddlewareOptions<Name, TestRequest>>, store: Store = this.store): Process {
    const process = new Process(store, this.clock, options);
    this.alive.add(process);
    return process;
  }

  /** Kills or freezes it: both look the same from outside. */
  stop(process: Process): void {
    this.alive.delete(process);
  }

  resume(process: Process): void {
    this.alive.add(process);
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await this.clock.advance(500);
      for (const { clock } of this.alive) await clock.advance(500);
    }
  }

  /** How many of a rule's units are in use. */
  async used(rule: Name = "tokens"): Promise<number> {
    const operation = { rule: { name: rule, limit: rules[rule] }, key, cost: 1 };
    const [{ remaining }] = await this.store.apply("peek", [operation]);
    return rules[rule].limit - remaining;
  }
}

describe("a reservation of a process that dies", () => {
  it("is released by another after its time; what was charged for good stays", async () => {
    const world = new World();
    const [dying] = [world.start(), world.start()];
    await dying.reserve();
    world.stop(dying);
    await world.pass(59_000);
    expect(await world.used()).toBe(60);
    await world.pass(7_000);
    expect(await world.used()).toBe(0);
    expect(await world.used("calls")).toBe(1);
    expect(world.store.journal.size).toBe(0);
  });

  it("is released by the process that comes after it", async () => {
    const world = new World();
    const dying = world.start();
    await dying.reserve();
    world.stop(dying);
    await world.pass(300_000);
    world.start();
    await world.pass(5_000);
    expect(await world.used()).toBe(0);
  });

  it("is released as soon as reserveForMs says", async () => {
    const world = new World();
    const [dying] = [world.start({ reserveForMs: 2_000 }), world.start({ reserveForMs: 2_000 })];
    await dying.reserve();
    world.stop(dying);
    await world.pass(1_500);
    expect(await world.used()).toBe(60);
    await world.pass(3_500);
    expect(await world.used()).toBe(0);
  });

  it("is released once, however many look after it, and nothing of others with it", async () => {
    const world = new World();
    const processes = [world.start(), world.start(), world.start()];
    await processes[0].reserve();
    await processes[1].limiter.check("tokens", key, { cost: 30 });
    world.stop(processes[0]);
    await world.pass(70_000);
    expect(await world.used()).toBe(30);
  });

  it("is not released into the next window", async () => {
    const world = new World();
    const options = { rules: { rule: "minute", reserve: 60 } } as const;
    const [dying, other] = [world.start(options), world.start(options)];
    await dying.reserve();
    world.stop(dying);
    await world.pass(60_000);
    await other.limiter.check("minute", key, { cost: 50 });
    await world.pass(20_000);
    expect(await world.used("minute")).toBe(50);
    expect(world.store.journal.size).toBe(0);
  });

  it("gives nothing that was not taken: it died before that", async () => {
    const world = new World();
    const [dying, other] = [world.start(), world.start()];
    await other.limiter.check("tokens", key, { cost: 30 });
    world.store.failure = { error: down };
    await dying.gate.admit({ ...ann });
    world.store.failure = undefined;
    world.stop(dying);
    await world.pass(70_000);
    expect(await world.used()).toBe(30);
    expect(world.store.journal.size).toBe(0);
  });

  it("gives nothing that was denied", async () => {
    const world = new World();
    const [asking, other] = [world.start(), world.start()];
    await other.limiter.check("tokens", key, { cost: 70 });
    world.store.journal.end = async () => {
      throw down;
    };
    refused(await asking.gate.admit({ ...ann }));
    world.stop(asking);
    await world.pass(70_000);
    expect(await world.used()).toBe(70);
  });

  it("is returned even if the answer was lost, so that the process did not know of it", async () => {
    const world = new World();
    const asking = world.start();
    world.store.failure = { error: down, afterwards: true };
    expect((await asking.reserve()).decided).toBeUndefined();
    world.store.failure = undefined;
    expect(await world.used()).toBe(60);
    await world.pass(70_000);
    expect(await world.used()).toBe(0);
  });
});

describe("a reservation of a process that lives", () => {
  it("is kept as long as its request runs", async () => {
    const world = new World();
    const [running] = [world.start(), world.start()];
    const admission = await running.reserve();
    await world.pass(600_000);
    expect(await world.used()).toBe(60);
    await admission.settle(10);
    expect(await world.used()).toBe(10);
  });

  it.each([
    ["settled", 7, (admission: Awaited<ReturnType<Process["reserve"]>>) => admission.settle(7)],
    ["settled as it was", 60, (admission: Awaited<ReturnType<Process["reserve"]>>) => admission.settle(60)],
    ["settled with more", 90, (admission: Awaited<ReturnType<Process["reserve"]>>) => admission.settle(90)],
    ["failed", 0, (admission: Awaited<ReturnType<Process["reserve"]>>) => admission.ended(broken)],
    ["left at its estimate", 60, (admission: Awaited<ReturnType<Process["reserve"]>>) => admission.ended(ok)],
  ])(
    "is not touched any more once it is %s, even if the process dies then and the journal does not hear of it",
    async (_name, used, end) => {
      const world = new World();
      const [running] = [world.start(), world.start()];
      const { end: write } = world.store.journal;
      const admission = await running.reserve();
      world.store.journal.end = async () => {
        throw down;
      };
      await end(admission);
      world.store.journal.end = write;
      world.stop(running);
      await world.pass(70_000);
      expect(await world.used()).toBe(used);
      expect(world.store.journal.size).toBe(0);
    },
  );

  it("leaves nothing in the journal", async () => {
    const world = new World();
    const running = world.start();
    const admissions = await Promise.all([running.reserve(), running.reserve({ peer: "5.6.7.8" })]);
    await admissions[0].settle(5);
    await admissions[1].ended(broken);
    passed(await running.gate.admit({ peer: "9.9.9.9" }));
    refused(await running.gate.admit({ peer: "9.9.9.9" }));
    expect(world.store.journal.size).toBe(1);
  });

  it("may be settled again as more is known", async () => {
    const world = new World();
    const { settle } = await world.start().reserve();
    await Promise.all([settle(10), settle(90), settle(30)]);
    expect(await world.used()).toBe(30);
  });

  it("can be settled after hours, as long as its process has looked after it", async () => {
    const world = new World();
    const running = world.start({ rules: { rule: "day", reserve: 60 } });
    const admission = await running.reserve();
    await world.pass(2 * 3_600_000);
    await admission.settle(10);
    expect(await world.used("day")).toBe(10);
  });

  it("is settled when the store is back", async () => {
    const world = new World();
    const [running] = [world.start(), world.start()];
    const admission = await running.reserve();
    world.store.failure = { error: down };
    world.store.journal.failure = down;
    await admission.settle(10);
    await world.pass(200_000);
    world.store.failure = undefined;
    world.store.journal.failure = undefined;
    await world.pass(10_000);
    expect(await world.used()).toBe(10);
    expect(world.store.journal.size).toBe(0);
  });
});

describe("a process that was frozen past the time of its reservation", () => {
  it.each([
    [0, 0],
    [10, 10],
    [60, 60],
    [95, 95],
  ])("and then settles %d is charged that: %d", async (cost, used) => {
    const world = new World();
    const [frozen, other] = [world.start(), world.start()];
    const admission = await frozen.reserve();
    world.stop(frozen);
    await world.pass(70_000);
    expect(await world.used()).toBe(0);
    await other.limiter.check("tokens", key, { cost: 5 });
    world.resume(frozen);
    await admission.settle(cost);
    expect(await world.used()).toBe(used + 5);
    await world.pass(200_000);
    expect(await world.used()).toBe(used + 5);
  });

  it("refunds nothing after so long that no record of it is left", async () => {
    const world = new World();
    const options = { rules: { rule: "day", reserve: 60 } } as const;
    const [frozen, other] = [world.start(options), world.start(options)];
    const admission = await frozen.reserve();
    world.stop(frozen);
    await world.pass(2 * 3_600_000);
    await other.limiter.check("day", key, { cost: 80 });
    await admission.settle(0);
    expect(await world.used("day")).toBe(80);
  });

  it("is charged once, also if the answer to that is lost", async () => {
    const world = new World();
    const [frozen] = [world.start(), world.start()];
    const admission = await frozen.reserve();
    world.stop(frozen);
    await world.pass(70_000);
    world.store.failure = { error: down, afterwards: true };
    await admission.settle(10);
    world.store.failure = undefined;
    world.resume(frozen);
    await world.pass(10_000);
    expect(await world.used()).toBe(10);
  });

  it.each([
    [10, 50],
    [70, 60],
  ])("and settles %d in the next window gives nothing back; what is more is charged: %d", async (cost, used) => {
    const world = new World();
    const frozen = world.start({ rules: { rule: "minute", reserve: 60 } });
    const admission = await frozen.reserve();
    await world.pass(60_000);
    await frozen.limiter.check("minute", key, { cost: 50 });
    await admission.settle(cost);
    expect(await world.used("minute")).toBe(used);
  });
});

describe("a journal that fails", () => {
  it("neither fails nor delays the request, and is reported once", async () => {
    const world = new World();
    const running = world.start();
    world.store.journal.failure = down;
    const admission = await running.reserve();
    await admission.settle(10);
    await world.pass(20_000);
    expect(await world.used()).toBe(10);
    expect(running.notices.map(({ code }) => code)).toEqual(["HG_JOURNAL_FAILED"]);
  });

  it("receives the ends of reservations later", async () => {
    const world = new World();
    const running = world.start();
    const admission = await running.reserve();
    world.store.journal.failure = down;
    await admission.settle(10);
    world.store.journal.failure = undefined;
    expect(world.store.journal.size).toBe(1);
    await world.pass(6_000);
    expect(world.store.journal.size).toBe(0);
  });

  it("is not waited for", async () => {
    const world = new World();
    const running = world.start();
    world.store.journal.add = () => new Promise(() => {});
    await (await running.reserve()).settle(10);
    expect(await world.used()).toBe(10);
  });
});

describe("what cannot be read in the journal", () => {
  it.each([
    "",
    "null",
    "[]",
    "{}",
    `{"at":1,"operations":[]}`,
    `{"at":1,"operations":[{"rule":{"name":"tokens","limit":{}},"key":"a","cost":1,"reserved":true}]}`,
  ])("is dropped: %s", async (text) => {
    const world = new World();
    world.start();
    await world.store.journal.add({ id: "foreign", text }, 1_000);
    await world.pass(10_000);
    expect(world.store.journal.size).toBe(0);
  });
});

describe("the middleware", () => {
  it("writes nothing down for requests that reserve nothing", async () => {
    const world = new World();
    const running = world.start({ rules: ["calls", "tokens"], refundOn: "5xx" });
    await (await running.reserve()).ended(broken);
    await world.pass(60_000);
    expect(world.store.journal.calls).toEqual([]);
  });

  it("looks no more after a store that was closed", async () => {
    const world = new World();
    world.start();
    world.store.journal.isClosed = true;
    await world.pass(10_000);
    const calls = world.store.journal.calls.length;
    await world.pass(60_000);
    expect(world.store.journal.calls.length).toBe(calls);
  });

  it.each([0, 999, 600_001, Number.NaN, "60"])("refuses reserveForMs: %s", (reserveForMs) => {
    const world = new World();
    expect(() => world.start({ reserveForMs: reserveForMs as number })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "reserveForMs" }),
    );
  });
});

describe.each([
  ["resilient", (store: Store, clock: ManualClock) => resilient(store, { clock })],
  ["cached", (store: Store, clock: ManualClock) => cached(store, { clock })],
])("over %s", (_name, wrapped) => {
  it("a reservation of a process that dies is released", async () => {
    const world = new World();
    const [dying, other] = [1, 2].map(() => world.start({}, wrapped(world.store, world.clock)));
    await dying.reserve();
    await other.limiter.penalize("tokens", key, { cost: 5 });
    world.stop(dying);
    await world.pass(70_000);
    expect(await world.used()).toBe(5);
  });

  it("one that was settled late is charged what it cost", async () => {
    const world = new World();
    const [frozen] = [1, 2].map(() => world.start({}, wrapped(world.store, world.clock)));
    const admission = await frozen.reserve();
    world.stop(frozen);
    await world.pass(70_000);
    await admission.settle(10);
    expect(await world.used()).toBe(10);
  });
});

describe("over resilient, while the store is gone", () => {
  it("the fallback decides, and nothing is charged or minted in the store", async () => {
    const world = new World();
    const running = world.start({}, resilient(world.store, { clock: world.clock, onDegraded: () => {} }));
    await running.limiter.check("tokens", key, { cost: 20 });
    world.store.failure = { error: down };
    const admission = await running.reserve();
    expect(admission.decided?.source).toBe("fallback");
    await admission.settle(10);
    world.store.failure = undefined;
    await world.pass(100_000);
    expect(await world.used()).toBe(20);
    expect(world.store.journal.size).toBe(0);
  });
});

describe("whatever happens to requests and processes", () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("reserve" as const), by: fc.nat(2) }),
      fc.record({ do: fc.constant("settle" as const), which: fc.nat(9), cost: fc.nat(40) }),
      fc.record({ do: fc.constant("stop" as const), by: fc.nat(2) }),
      fc.record({ do: fc.constant("resume" as const), by: fc.nat(2) }),
      fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1_000, 20_000, 70_000) }),
      fc.record({ do: fc.constant("fail" as const), afterwards: fc.boolean() }),
    ),
    { maxLength: 25 },
  );

  it("in the end exactly that is charged which was settled", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const world = new World();
        const options = { rules: { rule: "many", reserve: 20 } } as const;
        const processes = [world.start(options), world.start(options), world.start(options)];
        const open: { settle: (cost: number) => Promise<void>; cost?: number }[] = [];
        for (const step of steps) {
          if (step.do === "reserve") {
            const admission = await processes[step.by].gate.admit({ ...ann });
            if (admission.allowed && admission.decided !== undefined) open.push({ settle: admission.settle });
          } else if (step.do === "settle") {
            const reservation = open[step.which];
            if (reservation === undefined || reservation.cost !== undefined) continue;
            reservation.cost = step.cost;
            await reservation.settle(step.cost);
          } else if (step.do === "stop") world.stop(processes[step.by]);
          else if (step.do === "resume") world.resume(processes[step.by]);
          else if (step.do === "pass") {
            await world.pass(step.ms);
            world.store.failure = undefined;
          } else world.store.failure = { error: down, afterwards: step.afterwards };
        }
        // All that nobody has settled dies; what was to be settled while the store was gone still is.
        world.store.failure = undefined;
        for (const process of processes) world.resume(process);
        await world.pass(10_000);
        for (const process of processes) world.stop(process);
        world.start(options);
        await world.pass(70_000);
        expect(await world.used("many")).toBe(open.reduce((sum, { cost = 0 }) => sum + cost, 0));
        expect(world.store.journal.size).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
