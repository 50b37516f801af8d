import { describe, expect, it } from "vitest";
import { INITIAL, PATTERNS, queryOf, STEPS, stateIn } from "./playground-state.ts";

describe("the state of the playground", () => {
  it.each(Object.entries(PATTERNS))("is reproduced by its query: %s", (_, { rates }) => {
    const state = { limit: 7, windowSeconds: 3, burst: 12, cost: 2, rates, isRandom: true };
    expect(stateIn(new URLSearchParams(queryOf(state)))).toEqual(state);
  });

  it("is the initial one without a query, and within bounds whatever the query says", () => {
    expect(stateIn(new URLSearchParams())).toEqual(INITIAL);
    const odd = stateIn(new URLSearchParams("limit=-3&windowSeconds=1e9&burst=NaN&cost=2.4&traffic=zz"));
    expect(odd).toMatchObject({ limit: 1, windowSeconds: 60, burst: INITIAL.burst, cost: 2, rates: INITIAL.rates });
    const short = stateIn(new URLSearchParams("traffic=k1"));
    expect(short.rates).toEqual([20, 1, ...new Array(STEPS - 2).fill(0)]);
  });
});
