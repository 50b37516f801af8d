import { Random, VirtualTime } from "headgate-simulator/virtual-time";
import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../../../src/algorithms/registry.ts";
import type { Answer, Rule } from "../../../../src/stores/store.ts";
import { LeasingProcess } from "./leasing-process.ts";
import { Network } from "./network.ts";

const START = 1_700_000_040_000_000;
const NO_FAULTS = { loseRequest: 0, loseReply: 0, duplicate: 0, slow: 0, loseNews: 0 };

/** What part of the total was consumed at the first denial, and how many round trips that took. */
async function untilDenied(
  total: number,
  nodeCount: number,
  choose: (nodes: readonly LeasingProcess[], used: number, random: Random) => LeasingProcess,
): Promise<{ readonly consumed: number; readonly roundTrips: number }> {
  const time = new VirtualTime(START);
  const random = new Random(total);
  const network = new Network(time, random, NO_FAULTS);
  const nodes = Array.from(
    { length: nodeCount },
    () => new LeasingProcess(time, network, {}, { offset: random.whole(-60_000_000, 60_000_000), rate: 1 }),
  );
  const rule: Rule = { name: "api", limit: fixedWindow({ limit: total, windowMs: 60_000 }) };
  let admitted = 0;
  let consumed = 0;
  const answered = ([{ allowed }]: readonly Answer[]): void => {
    if (allowed) admitted += 1;
    else if (consumed === 0) consumed = admitted;
  };
  // The whole total is asked for within some twenty seconds.
  const pause = 20_000_000 / total;
  const next = (): void => {
    const answers = choose(nodes, admitted / total, random).store.apply("take", [{ rule, key: "user:1", cost: 1 }]);
    if ("then" in answers) void answers.then(answered);
    else answered(answers);
    if (consumed === 0) time.after(pause, next);
  };
  next();
  await time.runUntil(START + 59_000_000);
  const roundTrips = nodes.reduce((sum, { store }) => sum + store.stats.roundTrips, 0);
  return { consumed: consumed / total, roundTrips };
}

describe("at the first denial", () => {
  it.each([1_000, 10_000, 50_000])("98 % of %i are consumed with traffic on all of 8 nodes", async (total) => {
    const { consumed } = await untilDenied(total, 8, (nodes, _, random) => random.of(nodes));
    expect(consumed).toBeGreaterThanOrEqual(0.98);
  });

  it.each([1_000, 10_000, 50_000])("95 % of %i are consumed when all traffic goes to one of 8 nodes", async (total) => {
    const { consumed } = await untilDenied(total, 8, (nodes, used, random) =>
      used < 0.5 ? random.of(nodes) : nodes[0],
    );
    expect(consumed).toBeGreaterThanOrEqual(0.95);
  });

  it("95 % are consumed also when the traffic leaves a node only just before the end", async () => {
    const { consumed } = await untilDenied(10_000, 8, (nodes, used, random) =>
      used < 0.95 ? random.of(nodes) : nodes[0],
    );
    expect(consumed).toBeGreaterThanOrEqual(0.95);
  });

  it("the larger the total, the fewer round trips a request takes, whatever the number of nodes", async () => {
    const each = async (total: number, nodes: number): Promise<number> => {
      const { roundTrips } = await untilDenied(total, nodes, (all, _, random) => random.of(all));
      return (1_000 * roundTrips) / total;
    };
    const figures = {
      "10,000 on 1": await each(10_000, 1),
      "10,000 on 2": await each(10_000, 2),
      "10,000 on 4": await each(10_000, 4),
      "10,000 on 8": await each(10_000, 8),
      "50,000 on 8": await each(50_000, 8),
      "1,000 on 8": await each(1_000, 8),
    };
    expect(figures["50,000 on 8"]).toBeLessThan(figures["10,000 on 8"]);
    expect(figures["10,000 on 8"]).toBeLessThan(6 * figures["10,000 on 1"]);
  });
});
