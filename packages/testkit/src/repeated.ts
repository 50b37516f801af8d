const { HEADGATE_RUNS = "1" } = process.env;
const times = Number(HEADGATE_RUNS);

/** How often something random is tried; `HEADGATE_RUNS=20` (`npm run test:repeated`) tries it twenty times as often. */
export function repeated(usual: number): number {
  return Math.ceil(usual * times);
}

/** The same, for a property of fast-check. */
export function runs(usual: number): { readonly numRuns: number } {
  return { numRuns: repeated(usual) };
}

/** For the `describe` of properties: they are many small tries, and the machine may be busy. */
export const patience = { timeout: 300_000 * Math.max(1, times) } as const;
