/** One measurement, the same for every subject. */
export interface Workload {
  readonly name: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** What happens in it, in one sentence for readers of the table. */
  readonly about: string;
}

/**
 * What one child process measures for one subject: usually one workload, or two if the second is a by-product of the
 * first.
 */
export interface Experiment {
  readonly name: string;
  readonly workloads: readonly string[];
  readonly subjects: readonly string[];
  /** The subjects of a quick run, if all of them would take too long. */
  readonly quickSubjects?: readonly string[];
}

/** Instructions for a child process, as plain data. */
export interface Task {
  readonly suite: string;
  readonly experiment: string;
  readonly subject: string;
  readonly timedMs: number;
  /** How long a key lives in suites in which keys expire. */
  readonly lifetimeMs: number;
  /** How many keys, in suites that fill a server. */
  readonly keys?: number | undefined;
  /** Address of the server that the suite started, if any. */
  readonly address?: string | undefined;
}

/** What a child measured, by workload. */
export type Figures = Readonly<Record<string, number>>;

/** The size of a run. */
export interface Budget {
  readonly rounds: number;
  readonly timedMs: number;
  readonly lifetimeMs: number;
  readonly keys?: number;
  /** After this time no further round starts; the first always completes. */
  readonly stopAfterMs: number;
}

/** What all children of a run share: a server, if any, and where they run. */
export interface Surroundings {
  readonly address?: string;
  /** A command prefix such as `taskset`; may be empty. */
  readonly launcher: readonly string[];
  /** What readers must know about them, as Markdown paragraphs. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** A family of measurements. To add one: declare it, and give it a line in `suites.ts`. */
export interface Suite {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** What readers must know to interpret the figures, as Markdown paragraphs. */
  readonly reading: readonly string[];
  /** Sentences about subjects that are not installed. */
  readonly absent?: readonly string[];
  readonly workloads: readonly Workload[];
  /** The workloads with which the page begins. Without them, it begins with all that are compared with a peer. */
  readonly headlines?: readonly string[];
  readonly experiments: readonly Experiment[];
  readonly full: Budget;
  readonly quick: Budget;
  /** Starts what all children need, in the parent process, before the first of them. */
  open?(): Promise<Surroundings>;
  /** Runs in the child. Loads what it measures itself, so that a child loads nothing else. */
  measure(task: Task): Promise<Figures>;
}

export const HEADGATE = "headgate";
export const FLOOR = "floor: ";

/** Headgate itself, or with a wrapper such as `headgate-resilient`. */
export function isHeadgate(subject: string): boolean {
  return subject === HEADGATE || subject.startsWith(`${HEADGATE}-`);
}

export function isPeer(subject: string): boolean {
  return !isHeadgate(subject) && !subject.startsWith(FLOOR);
}
