/** What the playground shows. All of it is in the address, so that a link reproduces it. */
export interface PlaygroundState {
  /** Units per window. */
  readonly limit: number;
  readonly windowSeconds: number;
  readonly burst: number;
  /** Units of each request. */
  readonly cost: number;
  /** Requests per second, one figure for each step. */
  readonly rates: readonly number[];
  /** Whether requests arrive at random instead of evenly. */
  readonly isRandom: boolean;
}

/** A minute, in steps of two seconds. */
export const STEPS = 30;
export const STEP_MS = 2_000;
export const MOST_RATE = 20;

function rates(of: (i: number) => number): readonly number[] {
  return Array.from({ length: STEPS }, (_, i) => Math.min(MOST_RATE, Math.max(0, Math.round(of(i)))));
}

/** Traffic to begin with. */
export const PATTERNS = {
  steady: { title: "Steady", rates: rates(() => 6) },
  burst: { title: "Bursts", rates: rates((i) => (i % 10 < 2 ? 18 : 1)) },
  edge: { title: "Window edge", rates: rates((i) => (i === 4 || i === 5 || i === 14 || i === 15 ? 20 : 0)) },
  ramp: { title: "Ramp", rates: rates((i) => (i * 20) / STEPS) },
  crowd: { title: "Flash crowd", rates: rates((i) => (i < 8 ? 2 : 20 * Math.exp(-(i - 8) / 6))) },
} as const;

export type PatternName = keyof typeof PATTERNS;

export const INITIAL: PlaygroundState = {
  limit: 30,
  windowSeconds: 10,
  burst: 30,
  cost: 1,
  rates: PATTERNS.burst.rates,
  isRandom: false,
};

/** The bounds of the sliders, which a link cannot exceed either. */
export const BOUNDS = {
  limit: [1, 200],
  windowSeconds: [1, 60],
  burst: [1, 200],
  cost: [1, 20],
} as const;

export function stateIn(query: URLSearchParams): PlaygroundState {
  const number = (name: keyof typeof BOUNDS): number => {
    const [least, most] = BOUNDS[name];
    const value = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.round(value))) : INITIAL[name];
  };
  return {
    limit: number("limit"),
    windowSeconds: number("windowSeconds"),
    burst: number("burst"),
    cost: number("cost"),
    rates: ratesIn(query.get("traffic")),
    isRandom: query.get("random") === "1",
  };
}

/** One digit in base 36 for each step. */
function ratesIn(text: string | null): readonly number[] {
  if (text === null || !/^[0-9a-k]{1,30}$/.test(text)) return INITIAL.rates;
  return rates((i) => Number.parseInt(text[i] ?? "0", 36));
}

export function queryOf(state: PlaygroundState): Record<string, string> {
  const { limit, windowSeconds, burst, cost } = state;
  return {
    limit: String(limit),
    windowSeconds: String(windowSeconds),
    burst: String(burst),
    cost: String(cost),
    traffic: state.rates.map((rate) => rate.toString(36)).join(""),
    ...(state.isRandom && { random: "1" }),
  };
}
