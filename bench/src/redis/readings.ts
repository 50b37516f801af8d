import type { Workload } from "../suite.ts";

/** The figures of one experiment. */
export type Reading = "rate" | "p50" | "p99" | "client" | "redis";

const readings: Readonly<Record<Reading, Pick<Workload, "unit" | "better" | "about">>> = {
  rate: { unit: "k checks/s", better: "more", about: "" },
  p50: { unit: "ms", better: "less", about: "How long the median check took." },
  p99: { unit: "ms", better: "less", about: "How long all checks but the slowest hundredth took." },
  client: { unit: "k checks/s", better: "more", about: "For each second of the client's processor time." },
  redis: { unit: "k checks/s", better: "more", about: "For each second of Redis's processor time." },
};

/** The rate has the name of the experiment itself. */
export function workloadName(experiment: string, reading: Reading): string {
  return reading === "rate" ? experiment : `${experiment}-${reading}`;
}

export function workloadsOf(experiment: string, about: string, wanted: readonly Reading[]): Workload[] {
  return wanted.map((reading) => ({
    name: workloadName(experiment, reading),
    ...readings[reading],
    about: reading === "rate" ? about : `${about} ${readings[reading].about}`,
  }));
}
