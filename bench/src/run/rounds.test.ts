import { expect, test } from "vitest";
import type { Budget, Suite, Task } from "../suite.ts";
import { runRounds } from "./rounds.ts";
import { Samples } from "./samples.ts";

const budget: Budget = { rounds: 2, timedMs: 1, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY };
const suite: Suite = {
  name: "letters",
  title: "",
  about: "",
  reading: [],
  workloads: [{ name: "w", unit: "s", better: "less", about: "" }],
  experiments: [{ name: "w", workloads: ["w"], subjects: ["a", "b", "c"], quickSubjects: ["a"] }],
  full: budget,
  quick: budget,
  measure: async () => ({}),
};
const everything = { budget, quick: false, workloads: undefined, subjects: undefined };
const silent = { measuring: () => {}, failed: () => {} };

async function subjectsRun(selection: Parameters<typeof runRounds>[1]): Promise<string[]> {
  const ran: string[] = [];
  const run = async ({ subject }: Task) => {
    ran.push(subject);
    return { ok: true, figures: { w: 1 } } as const;
  };
  await runRounds(suite, selection, new Samples(), silent, run);
  return ran;
}

test("rounds are interleaved over the subjects", async () => {
  expect(await subjectsRun(everything)).toEqual(["a", "b", "c", "a", "b", "c"]);
});

test("a selection runs only what it names", async () => {
  expect(await subjectsRun({ ...everything, subjects: ["b"] })).toEqual(["b", "b"]);
  expect(await subjectsRun({ ...everything, workloads: ["other"] })).toEqual([]);
  expect(await subjectsRun({ ...everything, quick: true })).toEqual(["a", "a"]);
});

test("when time is up the first round still ends", async () => {
  expect(await subjectsRun({ ...everything, budget: { ...budget, stopAfterMs: -1 } })).toEqual(["a", "b", "c"]);
});

test("a subject that fails is reported once, and the others continue", async () => {
  const samples = new Samples();
  const reported: string[] = [];
  const observer = {
    ...silent,
    failed: ({ subject }: Task, message: string) => reported.push(`${subject}: ${message}`),
  };
  const failed = await runRounds(suite, everything, samples, observer, async ({ subject }) =>
    subject === "b" ? { ok: false, message: "cannot be loaded" } : { ok: true, figures: { w: 1 } },
  );
  expect(reported).toEqual(["b: cannot be loaded"]);
  expect([...failed]).toEqual(["b"]);
  expect([...samples.of("w")]).toEqual([
    ["a", [1, 1]],
    ["c", [1, 1]],
  ]);
});
