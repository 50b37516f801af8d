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
    machine: [["Memory", "24 GiB"]],
    versions: [["fast", "1.0.0"]],
    sections: [
      {
        suite: memory,
        note: "Measured on 2026-11-18.",
        measured: measured.map(({ version, results }) => ({
          version,
          rankings: rankingsOf(memory.workloads, results),
        })),
      },
    ],
  });
  expect(page).toContain("- [Speed in memory](#speed-in-memory): hot 1.50×\n");
  expect(page).toContain("| workload | headgate, Node 24 | best peer, Node 24 | ratio, Node 24 | headgate, Node 26 |");
  expect(page).toContain("| hot | 30.0 M checks/s | 20.0 (fast) | 1.50× | 20.0 M checks/s | 20.0 (fast) | 1.00× |\n");
  expect(page).toContain("| 100k |  |  |  | 5.00 M checks/s |  |  |\n");
  expect(page).not.toContain("| fresh |");
  expect(page).toContain("\n\nMeasured on 2026-11-18. Not measured: hot-deny, 1m-zipf, fresh, 100k-batch, hot-kept.\n");
});

const load = { unit: "k checks/s", better: "more" as const, about: "One key." };
const tail = { unit: "ms", better: "less" as const, about: "One key. 99th percentile." };

test("wrappers have rows of their own, and the best one is concluded from", () => {
  const suite = { ...memory, workloads: [{ ...load, name: "hot" }] };
  const results = [figure("hot", "headgate", 20), figure("hot", "headgate-leased", 500), figure("hot", "fast", 10)];
  const measured = [{ version: "24.1.0", rankings: rankingsOf(suite.workloads, results) }];
  const page = markdown({ machine: [], versions: [], sections: [{ suite, note: "", measured }] });
  expect(page).toContain("(#speed-in-memory): hot (leased) 50.0×\n");
  expect(page).toContain(
    "| hot (leased) | 500 M checks/s | 10.0 (fast) | 50.0× |\n| hot | 20.0 M checks/s | 10.0 (fast) | 2.00× |\n",
  );
});

test("a ratio to nothing is not infinite", () => {
  const suite = { ...memory, workloads: [{ ...load, name: "trips", better: "less" as const }] };
  const results = [figure("trips", "headgate", 0), figure("trips", "fast", 1_000)];
  const measured = [{ version: "24.1.0", rankings: rankingsOf(suite.workloads, results) }];
  const page = markdown({ machine: [], versions: [], sections: [{ suite, note: "", measured }] });
  expect(page).toContain("| 1000 (fast) | over 1000× |");
});

test("what several workloads report in addition is explained once, and not concluded from", () => {
  const workloads = [
    { ...load, name: "hot" },
    { ...tail, name: "hot-p99" },
    { ...load, name: "warm", about: "Many keys." },
    { ...tail, name: "warm-p99", about: "Many keys. 99th percentile." },
  ];
  const suite = { ...memory, workloads };
  const results = workloads.flatMap(({ name }) => [figure(name, "headgate", 20), figure(name, "fast", 10)]);
  const measured = [{ version: "24.1.0", rankings: rankingsOf(suite.workloads, results) }];
  const page = markdown({ machine: [], versions: [], sections: [{ suite, note: "", measured }] });
  expect(page).toContain("\n- hot: One key.\n- …-p99: 99th percentile.\n- warm: Many keys.\n\n");
  expect(page).toContain("(#speed-in-memory): hot 2.00×, warm 2.00×\n");
  const chosen = { ...suite, headlines: ["warm-p99"] };
  expect(markdown({ machine: [], versions: [], sections: [{ suite: chosen, note: "", measured }] })).toContain(
    "(#speed-in-memory): warm-p99 0.50×\n",
  );
});

test("a suite without peers is concluded from only where its headlines say so", () => {
  const measured = [{ version: "24.1.0", rankings: rankingsOf(memory.workloads, [figure("hot", "headgate", 20)]) }];
  const page = (suite: typeof memory) =>
    markdown({ machine: [], versions: [], sections: [{ suite, note: "", measured }] });
  expect(page(memory)).not.toContain("(#speed-in-memory)");
  expect(page({ ...memory, headlines: ["hot"] })).toContain("(#speed-in-memory): hot 20.0 M checks/s\n");
});

test("a suite that measured nothing has no table, only its reading", () => {
  const suite = { ...memory, workloads: [], reading: ["Nothing is installed."] };
  const sections = [{ suite, note: "Measured.", measured: [{ version: "24.1.0", rankings: [] }] }];
  const page = markdown({ machine: [], versions: [], sections });
  expect(page).toContain("## Speed in memory\n\nNothing is installed.\n\n## How it is measured\n");
});
