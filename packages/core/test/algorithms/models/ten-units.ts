const SECOND = 1_000_000;

/**
 * What an algorithm must answer about 10 units in 10 seconds when a key is first used at the very start of a
 * clock-aligned window, in microseconds. Worked out by hand from the definition of the algorithm.
 */
export interface TenUnits {
  /** Until the quota is full again, after 4 units were taken. */
  readonly resetAfterFour: number;
  /** Until 7 more fit, after 4 were taken. */
  readonly retryAfterSeven: number;
  /** Until 1 more fits, after a penalty of 12. */
  readonly retryAfterTwelve: number;
}

/** The level drains by one unit per second. */
export const drains: TenUnits = {
  resetAfterFour: 4 * SECOND,
  retryAfterSeven: 1 * SECOND,
  retryAfterTwelve: 3 * SECOND,
};

/** All units taken at one instant come back at one instant. */
export const leavesAtOnce: TenUnits = {
  resetAfterFour: 10 * SECOND,
  retryAfterSeven: 10 * SECOND,
  retryAfterTwelve: 10 * SECOND,
};

/** Reads `tenUnits` from the reference model of an algorithm. */
export async function tenUnitsOf(algorithm: string): Promise<TenUnits> {
  const file = algorithm.replaceAll("_", "-");
  const model: { readonly tenUnits?: TenUnits } = await import(`./${file}.ts`);
  if (model.tenUnits === undefined) throw new Error(`models/${file}.ts must export tenUnits`);
  return model.tenUnits;
}
