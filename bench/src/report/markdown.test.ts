import { expect, test } from "vitest";
import { memory } from "../memory/suite.ts";
import { markdown } from "./markdown.ts";
import { rankingsOf } from "./results.ts";

const figure = (workload: string, subject: string, median: number) => ({
  ...{ workload, subject, unit: "M checks/s", median },
  ...{ min: median, max: median },
});

test("a page begins with what to conclude, and has one row per workload", () => {
  const measured = [
    {
      version: "24.1.0",
      results: [figure("hot", "headgate", 30), figure("hot", "slow", 10), figure("hot", "fast", 20)],
    },
    {
      version: "26.2.0",
      results: [figure("hot", "headgate", 20), figure("hot", "fast", 20), figure("100k", "headgate", 5)],
    },
  ];
  const page = markdown({
    command: "npm run bench -- --write",
    machine: [["Node", "24.1.0 and 26.2.0"]],
    versions: [["fast", "1.0.0"]],
    sections: [
      {
        suite: memory,
        measured: measured.map(({ version, results }) => ({
          version,
          rankings: rankingsOf(memory.workloads, results),
        })),
      },
    ],
  });
  expect(page).toContain("- [Speed in memory](#speed-in-memory): 1.00× to 1.50×\n");
  expect(page).toContain("| workload | headgate, Node 24 | best peer, Node 24 | ratio, Node 24 | headgate, Node 26 |");
  expect(page).toContain("| hot | 30.0 M checks/s | 20.0 (fast) | 1.50× | 20.0 M checks/s | 20.0 (fast) | 1.00× |\n");
  expect(page).toContain("| 100k |  |  |  | 5.00 M checks/s |  |  |\n");
  expect(page).not.toContain("| fresh |");
});

test("a suite that measured nothing has no table, only its reading", () => {
  const suite = { ...memory, workloads: [], reading: ["Nothing is installed."] };
  const sections = [{ suite, measured: [{ version: "24.1.0", rankings: [] }] }];
  const page = markdown({ command: "npm run bench -- --write", machine: [], versions: [], sections });
  expect(page).toContain("## Speed in memory\n\nNothing is installed.\n\n## How it is measured\n");
});
