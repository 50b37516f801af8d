import * as fc from "fast-check";
import { runs } from "headgate-testkit/repeated";
import type { Limit } from "../../src/limits/limit.ts";
import { admitted, expectBound } from "./admitted.ts";
import { Fraction } from "./fraction.ts";
import { Row } from "./row.ts";
import { manyRequests } from "./traffic.ts";

/** The burst and the rate (units each microsecond) of a limit, for a model. */
export function burstAndRate({ limit, window, burst }: Limit): [Fraction, Fraction] {
  return [Fraction.of(burst), Fraction.of(limit, window)];
}

/** A limit that refills at a rate never admits more than a burst and what that rate adds, whatever the span. */
export function keepsMeterBound(limits: fc.Arbitrary<Limit>): void {
  const property = fc.property(limits, manyRequests, (limit, traffic) => {
    const [burst, rate] = burstAndRate(limit);
    expectBound(admitted(new Row(limit), traffic), (span) => burst.plus(rate.times(Fraction.of(span))).floor());
  });
  fc.assert(property, runs(150));
}
