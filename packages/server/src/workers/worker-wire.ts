import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Clock,
  HeadgateError,
  type Limit,
  type Operation,
  type Rule,
  StoreError,
} from "headgate";
import type { FrameWriter } from "./worker-frames.ts";

type SlotHolder = NonNullable<Operation["slot"]>;

// Workers exchange frames: requests in one direction, replies in the other. A frame has all messages of a turn of the
// event loop, so that they share a system call.
//
// A frame of requests begins with the difference between the monotonic clock and that of the sender, followed by records:
// either OTHER, for the next of the other messages, or a call without options: the number of its action, the length of its
// key, from when on it is void, how many operations it has, and for each the number of its rule and its cost.
//
// A frame of replies begins with ANSWERS or REPORTS. Answers are those to the calls of one frame in their order: how many
// the call has, and the figures of each; or FAILED, for the next of the errors, which are the other messages. Reports are
// other messages.

export const OTHER = 0;
export const ANSWERS = 1;
export const REPORTS = 0;
export const FAILED = -1;

/** A rule with the limit of a call. It is sent once per connection; afterwards, only its number is. */
type DefineMessage = readonly ["define", id: number, rule: Rule, limit: Limit | null];
/**
 * A call that has options or slots. Operations alternate between the number of a rule and a cost. All are for one key.
 * `holders`: the holders of the slots of each operation, if any has slots.
 */
export type ApplyMessage = readonly [
  "apply",
  action: Action,
  key: string,
  operations: readonly number[],
  options: ApplyOptions | null,
  holders: readonly (SlotHolder | null)[] | null,
];
/** `metrics` asks for the metrics of a worker; `refresh` for rules and API keys to be read again. */
type AskMessage = readonly ["metrics" | "refresh", call: number];
/** All numbers of rules are free again. */
type ForgetMessage = readonly ["forget"];
export type RequestMessage = DefineMessage | ApplyMessage | AskMessage | ForgetMessage;

export interface WireError {
  readonly code: HeadgateError["code"];
  readonly field: string;
  readonly problem: string;
}
/** The reply to an AskMessage. */
export type ReportMessage = readonly [call: number, result: string | WireError];
export type ReplyMessage = WireError | ReportMessage;

const NUMBERS: Readonly<Record<Action, number>> = {
  take: 1,
  charge: 2,
  peek: 3,
  penalize: 4,
  refund: 5,
  reset: 6,
  settle: 7,
  extend: 8,
  release: 9,
  takeFirst: 10,
};

const ACTIONS = new Map(Object.entries(NUMBERS).map(([action, number]) => [number, action as Action]));

export function numberOf(action: Action): number {
  return NUMBERS[action];
}

export function actionOf(number: number): Action {
  const action = ACTIONS.get(number);
  if (action === undefined) throw new Error(`there is no action ${number}`);
  return action;
}

const FIGURES = 6;

export function writeAnswers(answers: readonly Answer[], frame: FrameWriter<WireError>): void {
  frame.number(answers.length);
  for (const { time, allowed, remaining, retryAfter, resetAfter, inUse } of answers) {
    frame.number(time);
    frame.number(allowed ? 1 : 0);
    frame.number(remaining);
    frame.number(retryAfter);
    frame.number(resetAfter);
    frame.number(inUse ?? Number.NaN);
  }
}

/** The answers whose figures begin here. */
export function answersAt(numbers: Float64Array, at: number, count: number): readonly Answer[] {
  const answers = new Array<Answer>(count);
  for (let i = 0; i < count; i += 1) answers[i] = answerAt(numbers, at + i * FIGURES);
  return answers;
}

export function figuresOf(count: number): number {
  return count * FIGURES;
}

function answerAt(numbers: Float64Array, at: number): Answer {
  const answer: Answer = {
    time: numbers[at],
    allowed: numbers[at + 1] === 1,
    remaining: numbers[at + 2],
    retryAfter: numbers[at + 3],
    resetAfter: numbers[at + 4],
    source: "store",
    degraded: false,
  };
  const inUse = numbers[at + 5];
  if (Number.isNaN(inUse)) return answer;
  // Slots are released earlier than their lease ends, as a rule.
  const isUpperBound = !answer.allowed && Number.isFinite(answer.retryAfter);
  return isUpperBound ? { ...answer, inUse, retryIsUpperBound: true } : { ...answer, inUse };
}

/**
 * Deadlines are compared on the monotonic clock, which all processes of a machine share: the clocks of two workers differ
 * if the system's clock was set back between their starts.
 */
export function monotonicAhead(clock: Clock): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1_000) - clock.now();
}

export function wireErrorOf(error: unknown): WireError {
  if (!(error instanceof HeadgateError)) {
    return {
      code: "HG_STORE_REFUSED",
      field: "store",
      problem: error instanceof Error ? error.message : String(error),
    };
  }
  const { code, field, problem } = error;
  return { code, field, problem };
}

export function errorOf({ code, field, problem }: WireError): HeadgateError {
  switch (code) {
    case "HG_STORE_TIMEOUT":
    case "HG_STORE_UNREACHABLE":
    case "HG_STORE_REFUSED":
      return new StoreError(code, problem);
    default:
      return new HeadgateError(code, field, problem);
  }
}
