/** Units that were admitted together. */
export interface Admission {
  readonly time: bigint;
  readonly units: bigint;
}

/** How many units were admitted at times that qualify. */
export function unitsWhere(admissions: readonly Admission[], qualifies: (time: bigint) => boolean): bigint {
  return admissions.reduce((sum, { time, units }) => (qualifies(time) ? sum + units : sum), 0n);
}

/** The first time in [from, to] at which something holds that stays so once it does. */
export function firstTime(from: bigint, to: bigint, holds: (time: bigint) => boolean): bigint {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1n;
    if (holds(middle)) high = middle;
    else low = middle + 1n;
  }
  return low;
}
