import type { Budget, Experiment, Suite, Task } from "../suite.ts";
import type { Answer } from "./messages.ts";
import type { Samples } from "./samples.ts";

export interface Selection {
  readonly budget: Budget;
  readonly quick: boolean;
  /** The workloads to run, if not all. */
  readonly workloads: readonly string[] | undefined;
  readonly subjects: readonly string[] | undefined;
}

/** Reports progress. */
export interface Observer {
  measuring(number: number, total: number, task: Task): void;
  failed(task: Task, message: string): void;
}

/**
 * Runs every subject once per round, one process at a time. Interleaving makes a slow minute of the machine affect all
 * subjects alike. Returns the subjects that failed.
 */
export async function runRounds(
  suite: Suite,
  selection: Selection,
  samples: Samples,
  observer: Observer,
  run: (task: Task) => Promise<Answer>,
): Promise<ReadonlySet<string>> {
  const { rounds, stopAfterMs } = selection.budget;
  const start = performance.now();
  const tasks = tasksOf(suite, selection);
  const failed = new Set<Task>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [i, task] of tasks.entries()) {
      if (round > 0 && performance.now() - start > stopAfterMs) break;
      // It would fail again and report that again.
      if (failed.has(task)) continue;
      observer.measuring(round * tasks.length + i + 1, rounds * tasks.length, task);
      const answer = await run(task);
      if (answer.ok) {
        for (const [workload, value] of Object.entries(answer.figures)) samples.add(workload, task.subject, value);
      } else {
        failed.add(task);
        observer.failed(task, answer.message);
      }
    }
  }
  return new Set([...failed].map(({ subject }) => subject));
}

function tasksOf(suite: Suite, selection: Selection): Task[] {
  const { timedMs, lifetimeMs, keys } = selection.budget;
  return suite.experiments
    .filter(({ workloads }) => workloads.some((workload) => selection.workloads?.includes(workload) ?? true))
    .flatMap((experiment) =>
      subjectsOf(experiment, selection).map((subject) => ({
        suite: suite.name,
        experiment: experiment.name,
        subject,
        timedMs,
        lifetimeMs,
        keys,
      })),
    );
}

function subjectsOf(experiment: Experiment, { quick, subjects }: Selection): readonly string[] {
  if (subjects !== undefined) return experiment.subjects.filter((subject) => subjects.includes(subject));
  return quick && experiment.quickSubjects !== undefined ? experiment.quickSubjects : experiment.subjects;
}
