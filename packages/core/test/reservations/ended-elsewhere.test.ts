import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it, vi } from "vitest";
import { fixedWindow, rateLimiter, type Store } from "../../src/index.ts";
import { useRedis } from "../stores/redis/redis.ts";

const redis = useRedis();
const key = "team";

/** Two processes on one Redis. The first one's journal does not hear of an end until it is let. */
async function start() {
  const prefix = redis.newPrefix();
  const rules = { tokens: fixedWindow("1000/d") };
  const stores = [redis.store({ prefix }), redis.store({ prefix })];
  const [first, second] = stores.map((store) => rateLimiter(rules, { store }));
  // The script is loaded, so that entries are written together with the quota.
  await (await first.reserve([{ rule: "tokens", key, cost: 0 }])).release();
  return { first, second, release: holdEnds(stores[0]) };
}

function holdEnds({ journal }: Store): () => void {
  if (journal === undefined) throw new Error("this store has no journal");
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const end = journal.end.bind(journal);
  vi.spyOn(journal, "end").mockImplementation(async (...args) => {
    await held;
    await end(...args);
  });
  return release;
}

describe("a reservation that is just being settled", () => {
  it("is found by other processes, before and after the journal records its end", async () => {
    const { first, second, release } = await start();
    const reservation = await first.reserve([{ rule: "tokens", key, cost: 400 }]);
    const { id } = reservation;
    let isDone = false;
    const settled = reservation.settle({ tokens: 150 }).then(() => {
      isDone = true;
    });
    await eventually("it is settled", async () => (await second.peek("tokens", key)).remaining === 850);
    const settleAgain = async (tokens: number) => (await second.reservation(id)).settle({ tokens });
    await expect(settleAgain(1)).rejects.toThrow(expect.objectContaining({ code: "HG_RESERVATION_SETTLED" }));
    expect(isDone).toBe(false);
    release();
    await settled;
    expect((await second.reservation(id)).isEnded).toBe(true);
    await expect(settleAgain(1)).rejects.toThrow(expect.objectContaining({ code: "HG_RESERVATION_SETTLED" }));
    await settleAgain(150);
    expect((await second.peek("tokens", key)).remaining).toBe(850);
  });
});
