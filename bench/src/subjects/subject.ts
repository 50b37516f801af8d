interface LimiterOptions {
  readonly limit: number;
  readonly windowMs: number;
  /** For limiters that must know the number of keys in advance. */
  readonly maxKeys: number;
}

export interface SyncChecker {
  readonly kind: "sync";
  check(key: string): boolean;
  /** A check that keeps the whole result, so that the compiler cannot omit unused parts. */
  checkAndKeep?(key: string): boolean;
  /** A batch in one call, if supported. Returns the number allowed. */
  checkMany?(keys: readonly string[]): number;
}

/**
 * The promise is the library's own, because wrapping it would cost as much as the library. A rejection with anything
 * but
 * an Error means denied.
 */
export interface AsyncChecker {
  readonly kind: "async";
  check(key: string): Promise<object>;
  allowed(result: object): boolean;
}

export type Checker = SyncChecker | AsyncChecker;

/** A loaded library. Loading and creating are separate, so that code does not count as memory for keys. */
export type MakeChecker = (options: LimiterOptions) => Checker;

export interface SubjectModule {
  load(): Promise<MakeChecker>;
}
