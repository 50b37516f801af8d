import type { Workload } from "../suite.ts";

export function costName(framework: string): string {
  return `${framework}-cost`;
}

export function workloadsOf(framework: string, title: string): Workload[] {
  return [
    {
      name: framework,
      unit: "k requests/s",
      better: "more",
      about: `Hello world in ${title}, for each second of the server's processor time.`,
    },
    {
      name: costName(framework),
      unit: "% of bare",
      better: "less",
      about: `How many fewer requests ${title} answers with the limiter.`,
    },
  ];
}
