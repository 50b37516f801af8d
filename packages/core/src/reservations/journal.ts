/** Quota that was reserved, and of which nobody has said yet how much is used. */
export interface Hold {
  readonly id: string;
  /** What its holder wrote down, so that another can release it. */
  readonly text: string;
}

/**
 * A journal of holds, kept where the quota is: whoever lives can release what the dead have held. It is a list of
 * what may have to be done, and no more: that nothing is released twice, or after it was settled, is for the
 * idempotency keys of those who do it.
 */
export interface Holds {
  /** Whether the store was closed: then nobody needs to look after it any more. */
  readonly isClosed: boolean;
  add(hold: Hold, forMs: number): Promise<void>;
  /** Puts off the ends of holds to so many milliseconds from now; answers those that are still there. */
  extend(ids: readonly string[], forMs: number): Promise<readonly string[]>;
  remove(ids: readonly string[]): Promise<void>;
  /** Holds whose time is over, at most so many. They stay until they are removed: whoever takes care of one may die, too. */
  overdue(most: number): Promise<readonly Hold[]>;
}
