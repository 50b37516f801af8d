import { describe, expect, it } from "vitest";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import { concurrency, fixedWindow, type Limiter, rateLimiter, resilient, StoreError } from "../index.ts";
import { Reservations } from "../reservations/reservations.ts";
import { ManualClock } from "../testing/index.ts";
import type { OnError } from "../wrappers/resilient/on-error.ts";

const rules = { slots: concurrency(2), tokens: fixedWindow("10000/d") };
const tokens = { name: "tokens", limit: rules.tokens };
const key = "team";
const down = new StoreError("HG_STORE_UNREACHABLE", "is gone");

class World {
  readonly clock = new ManualClock(86_400_000);
  readonly store = new SharedStore(this.clock);
  private readonly clocks: ManualClock[] = [];

  limiter(onError?: OnError): Limiter<typeof rules> {
    const clock = this.newClock();
    const store = onError === undefined ? this.store : resilient(this.store, { onError, clock, nodes: 1 });
    return rateLimiter(rules, { store, clock });
  }

  /** As the service has them: clients extend their reservations. */
  service(): Reservations {
    return new Reservations(this.store, { clock: this.newClock() });
  }

  fail(isDown: boolean): void {
    this.store.failure = isDown ? { error: down } : undefined;
    this.store.journal.failure = isDown ? down : undefined;
  }

  async pass(ms: number, step = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      await this.clock.advance(step);
      for (const clock of this.clocks) await clock.advance(step);
    }
  }

  async inUse(): Promise<number | undefined> {
    const rule = { name: "slots", limit: rules.slots };
    const [{ inUse }] = await this.store.apply("peek", [{ rule, key, cost: 0 }]);
    return inUse;
  }

  async remaining(): Promise<number> {
    const [{ remaining }] = await this.store.apply("peek", [{ rule: tokens, key, cost: 0 }]);
    return remaining;
  }

  private newClock(): ManualClock {
    const clock = new ManualClock(this.clock.now() / 1000);
    this.clocks.push(clock);
    return clock;
  }
}

function forever(): Promise<void> {
  return new Promise(() => {});
}

describe("a reservation that its client extends", () => {
  it("is charged once, however often it is extended", async () => {
    const world = new World();
    const service = world.service();
    const operation = { rule: tokens, key, cost: 100 };
    const { id } = await service.reserve([operation], { forMs: 60_000, isUnattended: true });
    for (let minutes = 0; minutes < 20; minutes += 0.5) {
      await (await service.find(id)).extend(60_000);
      await world.pass(30_000, 5_000);
    }
    await (await service.find(id)).settle({ tokens: 100 });
    expect(await world.remaining()).toBe(9_900);
  });

  it("gives everything back when it is abandoned after a long extension", async () => {
    const world = new World();
    const service = world.service();
    const operation = { rule: tokens, key, cost: 100 };
    const { id } = await service.reserve([operation], { forMs: 1_000, isUnattended: true });
    await (await service.find(id)).extend(3_600_000);
    await world.pass(3_610_000, 10_000);
    expect(await world.remaining()).toBe(10_000);
  });

  it("lasts at least as long as it was made for", async () => {
    const world = new World();
    const service = world.service();
    const operation = { rule: tokens, key, cost: 100 };
    const { id } = await service.reserve([operation], { forMs: 60_000, isUnattended: true });
    await world.pass(50_000);
    await (await service.find(id)).extend(20_000);
    const entry = await world.store.journal.find(id);
    expect(((entry?.deadline ?? 0) - world.clock.now()) / 1000).toBe(60_000);
  });
});

describe("a reservation of another process", () => {
  it("cannot be adjusted", async () => {
    const world = new World();
    const { id } = await world.limiter().reserve([{ rule: "tokens", key, cost: 1_000 }]);
    const found = await world.limiter().reservation(id);
    await expect(found.adjust({ tokens: 5_000 })).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "costs" });
    expect(await world.remaining()).toBe(9_000);
  });

  it("keeps what its process has adjusted when it is extended elsewhere", async () => {
    const world = new World();
    await world.store.apply("take", [{ rule: tokens, key, cost: 4_000 }]);
    const reservation = await world.limiter().reserve([{ rule: "tokens", key, cost: 5_000 }]);
    const found = await world.limiter().reservation(reservation.id);
    await reservation.adjust({ tokens: 1_000 });
    await found.extend(60_000);
    await found.release();
    // What others have used stays used.
    expect(await world.remaining()).toBe(6_000);
  });
});

describe("slots while the store fails", () => {
  it.each<[OnError, boolean]>([
    ["deny", true],
    ["allow", false],
    ["local", false],
  ])("with %s are lost when their lease ends: %s", async (onError, isLost) => {
    const world = new World();
    const limiter = world.limiter(onError);
    let running: AbortSignal | undefined;
    void limiter.run("slots", key, (signal) => {
      running = signal;
      return forever();
    });
    const { signal } = await limiter.reserve([
      { rule: "slots", key },
      { rule: "tokens", key, cost: 5 },
    ]);
    await world.pass(5_000);
    world.fail(true);
    await world.pass(200_000, 1_000);
    expect({ running: running?.aborted, reserved: signal.aborted }).toEqual({ running: isLost, reserved: isLost });
  });

  it("are not given to others by the fallback while their tasks run", async () => {
    const world = new World();
    const limiter = world.limiter("local");
    world.fail(true);
    let started = 0;
    for (let round = 0; round < 5; round += 1) {
      void limiter.run("slots", key, () => {
        started += 1;
        return forever();
      });
      await world.pass(60_000, 1_000);
    }
    expect(started).toBe(2);
  });
});

describe("slots released while the store fails", () => {
  it.each<[OnError | undefined]>([[undefined], ["deny"], ["allow"], ["local"]])(
    "with onError %s are free soon after the store has recovered, long before their lease ends",
    async (onError) => {
      const world = new World();
      const limiter = world.limiter(onError);
      let end = (): void => {};
      const running = limiter.run("slots", key, () => new Promise<void>((resolve) => (end = resolve)));
      const reservation = await limiter.reserve([
        { rule: "slots", key },
        { rule: "tokens", key, cost: 500 },
      ]);
      await world.pass(5_000);
      expect(await world.inUse()).toBe(2);
      world.fail(true);
      end();
      const settled = reservation.settle({ tokens: 30 }).catch(() => {});
      await world.pass(20_000);
      await Promise.all([running, settled]);
      world.fail(false);
      expect(await world.inUse()).toBe(2);
      await world.pass(5_000);
      expect(await world.inUse()).toBe(0);
      expect(await world.remaining()).toBe(9_970);
    },
  );

  it("are not extended meanwhile", async () => {
    const world = new World();
    const reservation = await world.limiter().reserve([{ rule: "slots", key }]);
    world.store.refused = "release";
    await expect(reservation.release()).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    await world.pass(62_000);
    expect(await world.inUse()).toBe(0);
  });

  it("are not kept in mind after their lease has ended", async () => {
    const world = new World();
    const limiter = world.limiter("deny");
    const running = limiter.run("slots", key, () => world.fail(true));
    await world.pass(1_000);
    await running;
    await world.pass(90_000);
    world.fail(false);
    world.store.actions.length = 0;
    await world.pass(10_000);
    expect(world.store.actions).not.toContain("release");
  });
});

describe("waiting for a slot", () => {
  it("lasts until the time is up, also below a second", async () => {
    const world = new World();
    const limiter = world.limiter();
    let end = (): void => {};
    void limiter.run("slots", key, forever);
    void limiter.run("slots", key, () => new Promise<void>((resolve) => (end = resolve)));
    await world.pass(500);
    const third = limiter.run("slots", key, () => "third", { maxWaitMs: 900 });
    await world.pass(500, 100);
    end();
    await world.pass(100, 100);
    expect(await third).toMatchObject({ ran: true, value: "third" });
  });
});
