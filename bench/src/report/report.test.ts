import { describe, expect, test } from "vitest";
import { Samples } from "../run/samples.ts";
import type { Workload } from "../suite.ts";
import { rankings, ratio } from "./results.ts";
import { summarize } from "./statistics.ts";
import { comparison } from "./table.ts";

describe("summarize", () => {
  test("takes the middle of an odd number of values, in any order", () => {
    expect(summarize([9, 1, 10])).toEqual({ median: 9, min: 1, max: 10 });
  });

  test("takes the mean of the two in the middle of an even number", () => {
    expect(summarize([4, 1, 2, 100])).toEqual({ median: 3, min: 1, max: 100 });
  });
});

describe("rankings", () => {
  const speed: Workload = { name: "hot", unit: "M checks/s", better: "more", about: "" };
  const pause: Workload = { name: "pause", unit: "ms", better: "less", about: "" };
  const samples = new Samples();
  for (const [subject, value] of [
    ["headgate", 30],
    ["slow", 10],
    ["fast", 20],
    ["floor: nothing", 40],
  ] as const) {
    samples.add("hot", subject, value);
    samples.add("pause", subject, value);
  }
  const [fastest, calmest] = rankings([speed, pause, { ...speed, name: "not run" }], samples);

  test("put the best first, whether more is better or less", () => {
    expect(fastest.results.map(({ subject }) => subject)).toEqual(["floor: nothing", "headgate", "fast", "slow"]);
    expect(calmest.results.map(({ subject }) => subject)).toEqual(["slow", "fast", "headgate", "floor: nothing"]);
  });

  test("compare with the best peer, never with a floor", () => {
    expect(fastest.bestPeer?.subject).toBe("fast");
    expect(calmest.bestPeer?.subject).toBe("slow");
    expect(fastest.results.map((result) => ratio(fastest, result))).toEqual([2, 1.5, 1, 0.5]);
    expect(comparison(fastest)).toBe(
      "hot: headgate 30.0 M checks/s, the best peer (fast) 20.0 M checks/s: 1.50× as fast",
    );
    expect(comparison(calmest)).toBe("pause: headgate 30.0 ms, the best peer (slow) 10.0 ms: 0.33× as good");
  });

  test("take what is around Headgate for no peer, and for Headgate where it did not run plain", () => {
    const cached = new Samples();
    cached.add("hot", "headgate-cached", 60);
    cached.add("hot", "headgate-resilient", 50);
    cached.add("hot", "slow", 10);
    const [ranking] = rankings([speed], cached);
    expect(ranking.bestPeer?.subject).toBe("slow");
    expect(comparison(ranking)).toBe(
      "hot: headgate-cached 60.0 M checks/s, the best peer (slow) 10.0 M checks/s: 6.00× as fast",
    );
    cached.add("hot", "headgate", 20);
    expect(rankings([speed], cached)[0].headgate?.subject).toBe("headgate");
  });

  test("leave out what was not run", () => {
    expect(rankings([{ ...speed, name: "not run" }], samples)).toEqual([]);
  });
});
