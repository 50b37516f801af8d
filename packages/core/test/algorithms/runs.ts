const { HEADGATE_RUNS = "1" } = process.env;
const times = Number(HEADGATE_RUNS);

/** How often a property is tried; `HEADGATE_RUNS=20` tries each twenty times as often. */
export function runs(usual: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(usual * times) };
}

/** For the `describe` of properties: they are many small tries, and the machine may be busy. */
export const patience = { timeout: 60_000 * Math.max(1, times) } as const;
