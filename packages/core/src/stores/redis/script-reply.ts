import { HeadgateError, StoreError } from "../../errors.ts";
import { slotAnswer } from "../slot-operations.ts";
import type { Answer } from "../store.ts";
import { refusal } from "./redis-errors.ts";
import type { Request } from "./script-request.ts";

const DECIDED = -1;
const VOID = -2;
const CONFLICT = -3;
const REPEATED = -5;
const OUTSIDE = -6;
const DENIED = -7;
const UNUSUAL = -8;

/** The server's time is in none of the windows that were sent with a limit. Nothing was charged. */
export const OUTSIDE_WINDOWS = Symbol("outside windows");

/** A script for the common case leaves the request to the one for all. Nothing was charged. */
export const UNDECIDED = Symbol("undecided");

/** The reply of a script, read from front to back. answers.lua describes its format. */
export class ScriptReply {
  /** The server's clock when it decided the batch, in microseconds. */
  readonly time: number;
  private readonly bytes: DataView;
  private readonly problems: string[];
  private at = 0;

  constructor(reply: unknown) {
    const [packed, ...problems] = Array.isArray(reply) ? reply : [reply];
    if (!Buffer.isBuffer(packed) || packed.length === 0 || packed.length % 8 > 0)
      throw refusal("the script sent an unexpected reply");
    this.bytes = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    this.problems = problems.map(String);
    this.time = this.number();
  }

  private number(): number {
    this.at += 8;
    return this.bytes.getFloat64(this.at - 8, true);
  }

  /** The answers to the next request, or why there are none. */
  next(request: Request): readonly Answer[] | typeof OUTSIDE_WINDOWS | typeof UNDECIDED | Error {
    const status = this.number();
    if (status >= 0) return [this.answer(true, status, this.number(), 0)];
    if (status === DENIED) return [this.answer(false, this.number(), this.number(), this.number())];
    if (status === DECIDED) return this.answers(this.time, request.limits);
    if (status === REPEATED) return this.answers(this.number(), request.limits);
    if (status === OUTSIDE) return OUTSIDE_WINDOWS;
    if (status === UNUSUAL) return UNDECIDED;
    if (status === VOID)
      return new StoreError("HG_STORE_TIMEOUT", "Redis received this request too late and charged nothing");
    if (status === CONFLICT) {
      return new HeadgateError(
        "HG_IDEMPOTENCY_CONFLICT",
        "idempotencyKey",
        "was used for another request in the last five minutes: create a new one for each request",
      );
    }
    return refusal(this.problems.shift() ?? "the script failed", "key");
  }

  private answer(allowed: boolean, remaining: number, resetAfter: number, retryAfter: number): Answer {
    return { time: this.time, allowed, remaining, retryAfter, resetAfter, source: "store", degraded: false };
  }

  private answers(time: number, limits: Request["limits"]): Answer[] {
    const answers = new Array<Answer>(limits.length);
    for (let i = 0; i < limits.length; i += 1) {
      const answer: Answer = {
        time,
        allowed: this.number() === 1,
        remaining: this.number(),
        retryAfter: this.number(),
        resetAfter: this.number(),
        source: "store",
        degraded: false,
      };
      answers[i] = limits[i].isReleasable ? slotAnswer(answer, this.number()) : answer;
    }
    return answers;
  }
}
