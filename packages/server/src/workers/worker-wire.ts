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

type SlotHolder = NonNullable<Operation["slot"]>;

// Workers exchange lines of JSON. A line has many messages, so that they share a system call.

/** A rule with the limit of a call. It is sent once per connection; afterwards, only its number is. */
type DefineMessage = readonly ["define", id: number, rule: Rule, limit: Limit | null];
/**
 * Operations alternate between the number of a rule and a cost. All are for one key. `holders`: the holders of the
 * slots of each operation, if any has slots.
 */
export type ApplyMessage = readonly [
  "apply",
  call: number,
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

export type Figures = readonly (number | null)[];
export interface WireError {
  readonly code: HeadgateError["code"];
  readonly field: string;
  readonly problem: string;
}
/** The result of a call: answers as figures, a text, or an error. */
export type ReplyMessage = readonly [call: number, result: Figures | string | WireError];

/** What is sent back, as a line of JSON. */
export interface ReplyLine {
  /** Whether all messages of a line were handled. Calls that take longer are answered later. */
  readonly isAcknowledged: boolean;
  readonly replies: readonly ReplyMessage[];
}

const FIGURES = 6;

/** JSON has no Infinity, and writes null. */
export function figuresOf(answers: readonly Answer[]): Figures {
  return answers.flatMap(({ time, allowed, remaining, retryAfter, resetAfter, inUse = null }) => [
    time,
    allowed ? 1 : 0,
    remaining,
    retryAfter,
    resetAfter,
    inUse,
  ]);
}

export function answersOf(figures: Figures): readonly Answer[] {
  const answers: Answer[] = [];
  const at = (i: number): number => figures[i] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i < figures.length; i += FIGURES) {
    const [allowed, retryAfter, inUse] = [figures[i + 1] === 1, at(i + 3), figures[i + 5]];
    answers.push({
      time: at(i),
      allowed,
      remaining: at(i + 2),
      retryAfter,
      resetAfter: at(i + 4),
      source: "store",
      degraded: false,
      ...(inUse !== null && { inUse }),
      // Slots are released earlier than their lease ends, as a rule.
      ...(inUse !== null && !allowed && Number.isFinite(retryAfter) && { retryIsUpperBound: true }),
    });
  }
  return answers;
}

/**
 * Options as they are sent: `voidFrom` on the monotonic clock, which all processes of a machine share. The clocks of
 * two workers differ if the system's clock was set back between their starts.
 */
export function sentOptions(options: ApplyOptions | undefined, clock: Clock): ApplyOptions | null {
  return options === undefined ? null : shifted(options, monotonicTime() - clock.now());
}

export function receivedOptions(options: ApplyOptions | null, clock: Clock): ApplyOptions | undefined {
  return options === null ? undefined : shifted(options, clock.now() - monotonicTime());
}

function shifted(options: ApplyOptions, by: number): ApplyOptions {
  return options.voidFrom === undefined ? options : { ...options, voidFrom: options.voidFrom + by };
}

/** In microseconds. */
function monotonicTime(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1_000);
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

/** Splits a stream of text into its lines, and calls `onLine` with each. */
export function eachLine(onLine: (line: string) => void): (chunk: string) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  };
}
