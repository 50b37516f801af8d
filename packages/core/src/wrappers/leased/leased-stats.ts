/** Statistics of a `leased` store, in units. At any time, granted = spent + held + returning + returned + burnt. */
export interface LeasedStats {
  /** Units taken from pools. */
  readonly granted: number;
  /** Units admitted and paid for from what was granted. */
  readonly spent: number;
  /** Units held now. */
  readonly held: number;
  /** Units on their way back to their pools. */
  readonly returning: number;
  /** Units returned to their pools. */
  readonly returned: number;
  /** Units that expired with their window, or were lost on the way back. */
  readonly burnt: number;
  /** Units admitted while a pool was being asked, and not paid for. They exceed the limit if the pool denies them. */
  readonly lent: number;
  /** Requests denied locally, because their pool was known to have too little. */
  readonly denied: number;
  /** Requests that went to the store without a lease. */
  readonly straight: number;
  /** Calls to the store: grants, returns and requests without a lease. */
  readonly roundTrips: number;
  /** Leased keys. */
  readonly leases: number;
}

export type Counts = { -readonly [Name in keyof LeasedStats]: LeasedStats[Name] };

export function noCounts(): Counts {
  return {
    granted: 0,
    spent: 0,
    held: 0,
    returning: 0,
    returned: 0,
    burnt: 0,
    lent: 0,
    denied: 0,
    straight: 0,
    roundTrips: 0,
    leases: 0,
  };
}
