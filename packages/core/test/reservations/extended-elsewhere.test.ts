import { describe, expect, it, vi } from "vitest";
import { fixedWindow, type Reservation, rateLimiter, type Store } from "../../src/index.ts";
import { useRedis } from "../stores/redis/redis.ts";

const redis = useRedis();
const key = "team";
const HOUR_MS = 3_600_000;

/** Three processes on one Redis. The second one extends what the first one has made. */
async function start() {
  const prefix = redis.newPrefix();
  const rules = { tokens: fixedWindow("1000/d") };
  const stores = [1, 2, 3].map(() => redis.store({ prefix }));
  const [first, second, third] = stores.map((store) => rateLimiter(rules, { store }));
  await (await first.reserve([{ rule: "tokens", key, cost: 0 }])).release();
  const reservation = await first.reserve([{ rule: "tokens", key, cost: 400 }]);
  const found = await second.reservation(reservation.id);
  return { third, reservation, found, between: holdExtension(stores[1]) };
}

/** Does something when a process has read what it is going to extend, and before it does. */
function holdExtension({ journal }: Store): (work: () => Promise<unknown>) => void {
  if (journal === undefined) throw new Error("this store has no journal");
  return (work) => {
    const extend = journal.extend.bind(journal);
    vi.spyOn(journal, "extend").mockImplementationOnce(async (...args) => {
      await work();
      return extend(...args);
    });
  };
}

async function extendsDuring(
  work: (reservation: Reservation<"tokens">) => Promise<unknown>,
): Promise<Awaited<ReturnType<typeof start>>> {
  const made = await start();
  made.between(() => work(made.reservation));
  await made.found.extend(HOUR_MS);
  return made;
}

describe("a reservation that another process extends", () => {
  it("keeps an adjustment that its own process announces meanwhile", async () => {
    const { third, reservation } = await extendsDuring((own) => own.adjust({ tokens: 700 }));
    expect((await third.peek("tokens", key)).remaining).toBe(300);
    // As the process that cleans up would.
    await (await third.reservation(reservation.id)).settle({ tokens: 0 });
    expect((await third.peek("tokens", key)).remaining).toBe(1_000);
  });

  it("keeps what its own process has spent meanwhile", async () => {
    const { third, reservation } = await extendsDuring(async (own) => {
      own.spend("tokens", 150);
      await own.extend(60_000);
    });
    const [check] = (await third.reservation(reservation.id)).checks;
    expect(check.spent).toBe(150);
  });

  it("stays as long as it was extended, also when its own process writes later", async () => {
    const { third, reservation } = await extendsDuring(async () => {});
    reservation.spend("tokens", 150);
    await reservation.extend(60_000);
    const found = await third.reservation(reservation.id);
    expect(found.checks[0].spent).toBe(150);
    expect(found.deadlineMs).toBeGreaterThan(Date.now() + HOUR_MS / 2);
  });

  it("is not found again if its own process settles it meanwhile", async () => {
    const made = await start();
    made.between(() => made.reservation.settle({ tokens: 100 }));
    await expect(made.found.extend(HOUR_MS)).rejects.toMatchObject({ code: "HG_RESERVATION_LOST" });
    expect((await made.third.reservation(made.reservation.id)).isEnded).toBe(true);
    expect((await made.third.peek("tokens", key)).remaining).toBe(900);
  });
});
