/** Units that a node admitted, at a time in milliseconds. */
export interface Admission {
  readonly node: number;
  readonly at: number;
  readonly units: number;
}

/**
 * The most that N nodes may let in over a limit of L in a window: what comes to each of them while a flush waits
 * and travels, and never more than the limit once again for each node but one. Of what comes only that is counted
 * which was let in: so the bound is held tighter than it is stated. `lagsMs` has flush and round trip of each node.
 */
export function overAdmissionBound(letIn: readonly Admission[], limit: number, lagsMs: readonly number[]): number {
  const unwritten = lagsMs.map((lagMs, node) => {
    return mostWithin(
      letIn.filter((admission) => admission.node === node),
      lagMs,
    );
  });
  return Math.min((lagsMs.length - 1) * limit, sum(unwritten));
}

/** The most units in any span of that length, its ends included; admissions are in order. */
function mostWithin(admissions: readonly Admission[], spanMs: number): number {
  let [most, units, first] = [0, 0, 0];
  for (const admission of admissions) {
    units += admission.units;
    for (; admissions[first].at < admission.at - spanMs; first += 1) units -= admissions[first].units;
    most = Math.max(most, units);
  }
  return most;
}

/** What was admitted, window by window. */
export function byWindow(letIn: readonly Admission[], windowMs: number): Map<number, Admission[]> {
  const windows = new Map<number, Admission[]>();
  for (const admission of letIn) {
    const window = Math.floor(admission.at / windowMs);
    const others = windows.get(window);
    if (others === undefined) windows.set(window, [admission]);
    else others.push(admission);
  }
  return windows;
}

export function unitsOf(letIn: readonly Admission[]): number {
  return sum(letIn.map(({ units }) => units));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
