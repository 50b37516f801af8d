import type { AsyncChecker } from "../../subjects/subject.ts";

export interface SharedLimiterOptions {
  /** Of the Redis that they all share. */
  readonly url: string;
  readonly limit: number;
  readonly windowMs: number;
  /** How many limits one check is held against, where it is asked for several; else there is one. */
  readonly limits: number | undefined;
}

export type MakeSharedChecker = (options: SharedLimiterOptions) => Promise<AsyncChecker>;

export interface SharedSubjectModule {
  readonly make: MakeSharedChecker;
}
