import { expect, test } from "vitest";
import { Latencies } from "./latencies.ts";

test("a percentile is the shortest time within which that share of the checks was answered", () => {
  const latencies = new Latencies();
  for (let ms = 200; ms >= 1; ms -= 1) latencies.add(ms);
  expect(latencies.percentile(0.5)).toBe(100);
  expect(latencies.percentile(0.99)).toBe(198);
  expect(latencies.percentile(1)).toBe(200);
});

test("only the last million checks count", () => {
  const latencies = new Latencies();
  for (let i = 0; i < 10; i += 1) latencies.add(1_000);
  for (let i = 0; i < 2 ** 20; i += 1) latencies.add(1);
  expect(latencies.percentile(1)).toBe(1);
});
