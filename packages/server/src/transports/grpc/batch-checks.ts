import { isPromise } from "headgate/http";
import type { CheckRequest, CheckResult } from "../../checks/check.ts";
import { weightOf } from "../../checks/check-weight.ts";
import { RequestError } from "../../checks/request-error.ts";
import { startingNow, type Work } from "../../rules/cooperative-work.ts";
import { type Answered, requireDimension, type WireCheck, type WireError } from "./check-codec.ts";
import type { Failure } from "./grpc-status.ts";

const MOST_CHECKS = 1_000;

export function requireChecks(checks: readonly WireCheck[]): void {
  if (checks.length <= MOST_CHECKS) return;
  throw new RequestError("checks", `must have at most ${MOST_CHECKS} checks in a message, got ${checks.length}`);
}

/** How many ordinary checks they count as in the limit on checks. */
export function weightOfMany(checks: readonly WireCheck[]): number {
  let weight = 0;
  for (const { endpoint } of checks) weight += weightOf(endpoint);
  return weight;
}

/** The results of many checks, in order. */
export interface ManyAnswers {
  /** Undefined for a check that failed. */
  readonly answers: readonly (Answered | undefined)[];
  readonly errors: readonly WireError[];
}

/** Makes independent checks: synchronously if that takes no longer than a turn and all results are available. */
export function checkMany(
  ask: (check: CheckRequest) => CheckResult | Promise<CheckResult>,
  checks: readonly WireCheck[],
  failureOf: (error: unknown) => Failure,
): ManyAnswers | Promise<ManyAnswers> {
  const begun = startingNow(checkEach(ask, checks, failureOf));
  return isPromise(begun) ? begun.then(settled) : settled(begun);
}

function* checkEach(
  ask: (check: CheckRequest) => CheckResult | Promise<CheckResult>,
  checks: readonly WireCheck[],
  failureOf: (error: unknown) => Failure,
): Work<Begun> {
  const answers = new Array<Answered | undefined>(checks.length);
  const errors: WireError[] = [];
  const waiting: Promise<void>[] = [];
  const fail = (index: number, error: unknown): void => {
    const { code, message, field } = failureOf(error);
    errors.push({ index, code, message, field });
  };
  for (let i = 0; i < checks.length; i += 1) {
    const check = checks[i];
    try {
      requireDimension(check);
      const result = ask(check);
      if (isPromise(result)) waiting.push(result.then(keep(i), (error) => fail(i, error)));
      else answers[i] = { result, withLimits: check.withLimits };
    } catch (error) {
      fail(i, error);
    }
    yield;
  }
  function keep(i: number): (result: CheckResult) => void {
    return (result) => {
      answers[i] = { result, withLimits: checks[i].withLimits };
    };
  }
  return { answers, errors, waiting };
}

/** Checks that have all started; some may still wait for the store. */
interface Begun extends ManyAnswers {
  readonly waiting: readonly Promise<void>[];
}

function settled({ answers, errors, waiting }: Begun): ManyAnswers | Promise<ManyAnswers> {
  return waiting.length === 0 ? { answers, errors } : Promise.all(waiting).then(() => ({ answers, errors }));
}
