/** One thing that is measured, the same for every subject. */
export interface Workload {
  readonly name: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** What happens in it, as one sentence for the reader of a table. */
  readonly about: string;
}

/**
 * What one child process measures of one subject. Mostly a single workload; two where the second
 * can be read off the first for nothing.
 */
export interface Experiment {
  readonly name: string;
  readonly workloads: readonly string[];
  readonly subjects: readonly string[];
  /** The subjects of a quick run, where all of them would take too long. */
  readonly quickSubjects?: readonly string[];
}

/** A child's orders: plain data, since they travel to another process. */
export interface Task {
  readonly suite: string;
  readonly experiment: string;
  readonly subject: string;
  readonly timedMs: number;
  /** How long a key lives where a suite lets keys expire. */
  readonly lifetimeMs: number;
  /** Of the server that the suite started, if it has one. */
  readonly address?: string | undefined;
}

/** What a child measured, by the name of the workload. */
export type Figures = Readonly<Record<string, number>>;

/** How much of everything a run does. */
export interface Budget {
  readonly rounds: number;
  readonly timedMs: number;
  readonly lifetimeMs: number;
  /** After this long no further round begins; the first always ends. */
  readonly stopAfterMs: number;
}

/** What all children of a run share: a server, if they do, and where they run. */
export interface Surroundings {
  readonly address?: string;
  /** A command that runs the command after it, as `taskset` does; or nothing. */
  readonly launcher: readonly string[];
  /** What a reader must know about them, as Markdown paragraphs. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** A family of measurements. To add one: declare it, and give it a line in `suites.ts`. */
export interface Suite {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** What a reader must know to read the figures rightly, as Markdown paragraphs. */
  readonly reading: readonly string[];
  readonly workloads: readonly Workload[];
  readonly experiments: readonly Experiment[];
  readonly full: Budget;
  readonly quick: Budget;
  /** Starts what all children need, in the parent, before the first of them. */
  open?(): Promise<Surroundings>;
  /** Runs in the child. Loads what it measures itself, so that a child holds nothing else. */
  measure(task: Task): Promise<Figures>;
}

export const HEADGATE = "headgate";
export const FLOOR = "floor: ";

/** Headgate plain, or with something around it: `headgate-resilient`. */
export function isHeadgate(subject: string): boolean {
  return subject === HEADGATE || subject.startsWith(`${HEADGATE}-`);
}

export function isPeer(subject: string): boolean {
  return !isHeadgate(subject) && !subject.startsWith(FLOOR);
}
