/** Measurements of each round, by workload and subject. */
export class Samples {
  private readonly values = new Map<string, Map<string, number[]>>();

  add(workload: string, subject: string, value: number): void {
    const subjects = this.values.get(workload) ?? new Map<string, number[]>();
    this.values.set(workload, subjects);
    const values = subjects.get(subject);
    if (values === undefined) subjects.set(subject, [value]);
    else values.push(value);
  }

  of(workload: string): ReadonlyMap<string, readonly number[]> {
    return this.values.get(workload) ?? new Map();
  }
}
