/** Every invariant of the soak, with what broke it. */
export class Invariants {
  private readonly breaks = new Map<string, string[]>();

  constructor(names: readonly string[]) {
    for (const name of names) this.breaks.set(name, []);
  }

  readonly broken = (name: string, details: string): void => {
    const list = this.breaks.get(name);
    if (list === undefined) throw new Error(`there is no invariant "${name}"`);
    list.push(`${new Date().toISOString()} ${details}`);
    if (list.length <= 3) console.error(`BROKEN: ${name}: ${details}`);
  };

  get hold(): boolean {
    return [...this.breaks.values()].every((list) => list.length === 0);
  }

  report(): string {
    return [...this.breaks]
      .map(([name, list]) =>
        list.length === 0 ? `  held    ${name}` : `  BROKEN  ${name} (${list.length}): ${list[0]}`,
      )
      .join("\n");
  }
}

export const INVARIANTS = [
  "no window admits more than its limit",
  "the fallback admits at most the limit",
  "deny admits nothing without the store",
  "a denial is due to the limit",
  "a repeated check gets the same decision",
  "a check gets an answer",
  "a check is answered within 5 seconds",
  "the store is used again within 10 seconds after a fault",
  "/healthz answers",
  "the metrics count every check",
  "the heap stops growing",
  "the event loop is not blocked",
  "the node stops cleanly",
  "the audit log is intact",
] as const;
