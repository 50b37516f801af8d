/** What a leased store has done. At every moment granted = spent + held + returning + returned + burnt, in units. */
export interface LeasedStats {
  /** Taken from pools. */
  readonly granted: number;
  /** Let in, and paid from what was granted. */
  readonly spent: number;
  /** Held here now, for requests to come. */
  readonly held: number;
  /** On their way back to their pools. */
  readonly returning: number;
  readonly returned: number;
  /** Worth nothing any more when their window ended, or lost on the way back. */
  readonly burnt: number;
  /** Let in while a pool was asked, and not paid: over the limit if the pool refuses. */
  readonly lent: number;
  /** Requests denied here, because their pool was known to have too little. */
  readonly denied: number;
  /** Requests that went to the store, past all leases. */
  readonly straight: number;
  /** Calls to the store: grants, returns and straight requests. */
  readonly roundTrips: number;
  /** Keys that are leased for. */
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
