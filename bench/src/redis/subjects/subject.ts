import type { AsyncChecker } from "../../subjects/subject.ts";

export interface SharedLimiterOptions {
  /** URL of the shared Redis. */
  readonly url: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Number of limits per check, if several; otherwise one. */
  readonly limits: number | undefined;
}

export type MakeSharedChecker = (options: SharedLimiterOptions) => Promise<AsyncChecker>;

export interface SharedSubjectModule {
  readonly make: MakeSharedChecker;
}
