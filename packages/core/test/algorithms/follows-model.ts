import * as fc from "fast-check";
import { runs } from "headgate-testkit/repeated";
import { expect } from "vitest";
import type { Limit } from "../../src/limits/limit.ts";
import type { Expected, Model } from "./models/model.ts";
import { type Answer, Row } from "./row.ts";
import { play, requests } from "./traffic.ts";

/** Plays random traffic to a row and to its model, and compares every answer. */
export function followsModel(limits: fc.Arbitrary<Limit>, modelOf: (limit: Limit) => Model): void {
  const property = fc.property(limits, requests, (limit, traffic) => {
    const model = modelOf(limit);
    play(new Row(limit), traffic, (now, cost, answer) => {
      expectAnswer(answer, model.take(BigInt(now), BigInt(cost)), limit);
    });
  });
  fc.assert(property, runs(1_000));
}

export function expectAnswer(answer: Answer, expected: Expected, limit: Limit): void {
  const { allowed, retryAfter, resetAfter } = answer;
  expect({ allowed, retryAfter, resetAfter, whole: Math.floor(answer.remaining) }).toEqual({
    allowed: expected.allowed,
    retryAfter: expected.retryAfter === "never" ? Number.POSITIVE_INFINITY : Number(expected.retryAfter),
    resetAfter: Number(expected.resetAfter),
    whole: Number(expected.remaining.floor()),
  });
  // A fraction that is shown is a double: right to its last digits.
  const slip = Math.abs(answer.remaining - expected.remaining.toNumber());
  expect(slip).toBeLessThanOrEqual(2 ** -50 * limit.burst);
}
