interface LimiterOptions {
  readonly limit: number;
  readonly windowMs: number;
  /** For those that must know beforehand how many keys will come. */
  readonly maxKeys: number;
}

export interface SyncChecker {
  readonly kind: "sync";
  check(key: string): boolean;
  /** A check whose whole answer is kept, so that the compiler cannot leave out the parts that nobody reads. */
  checkAndKeep?(key: string): boolean;
  /** A batch in one call, for those that have it; answers how many were allowed. */
  checkMany?(keys: readonly string[]): number;
}

/**
 * The promise is the library's own, not one wrapped around it: another would cost as much as the
 * library. One that rejects with anything but an Error means denied.
 */
export interface AsyncChecker {
  readonly kind: "async";
  check(key: string): Promise<object>;
  allowed(result: object): boolean;
}

export type Checker = SyncChecker | AsyncChecker;

/** A loaded library. Loading and making are apart so that code does not count as memory for keys. */
export type MakeChecker = (options: LimiterOptions) => Checker;

export interface SubjectModule {
  load(): Promise<MakeChecker>;
}
