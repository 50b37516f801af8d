import { HeadgateError } from "headgate";
import { after, isPromise } from "headgate/http";
import type { CallLimits } from "../../checks/call-limits.ts";
import type { Decided } from "./decision-runs.ts";
import type { Arguments, PipelinedArguments, RespCommand, Session } from "./resp-command.ts";
import { badArgument, NO_AUTH } from "./resp-errors.ts";
import { ErrorReply, integerReply } from "./resp-reply.ts";
import { redisCell, type ThrottleDialect, throttlecrab } from "./throttle-dialect.ts";
import type { ThrottleLimit } from "./throttle-limit.ts";
import { wholeNumber } from "./whole-number.ts";

/** Limits whose figures are kept. Applications have few. */
const MOST_LIMITS = 1_000;
const KEY = 1;
const MAX_BURST = 2;
const PERIOD = 4;
const QUANTITY = 5;

/** Commands whose limits are sent with the call. */
export function throttleCommands(limits: CallLimits, decided: Decided): readonly RespCommand[] {
  return [
    throttle("CL.THROTTLE", redisCell, limits, decided),
    throttle("THROTTLE", throttlecrab, limits, decided),
    {
      name: "DEL",
      arity: -2,
      isCheck: true,
      isAlone: true,
      hasKey: true,
      async run({ owner }, args) {
        if (owner === undefined) return NO_AUTH;
        const keys = Array.from({ length: args.count - 1 }, (_, i) => args.argument(i + 1));
        for (const key of keys) await limits.reset(owner.rule, key);
        return integerReply(keys.length);
      },
    },
  ];
}

/** `key max_burst count period [quantity]`. */
function throttle(name: string, dialect: ThrottleDialect, limits: CallLimits, decided: Decided): RespCommand {
  const { memory } = limits;
  const known = new Map<string, ThrottleLimit>();
  // Most calls have the same limit as the one before.
  let lastSpan = "";
  let last: ThrottleLimit | undefined;

  function limitIn(args: Arguments): ThrottleLimit | ErrorReply {
    if (last !== undefined && args.spans(MAX_BURST, lastSpan, PERIOD)) return last;
    const span = args.span(MAX_BURST, PERIOD);
    const found = known.get(span) ?? readLimit(args, dialect);
    if (found instanceof ErrorReply) return found;
    if (known.size >= MOST_LIMITS) known.clear();
    // A copy: a slice would keep the whole packet in memory.
    lastSpan = Buffer.from(span, "latin1").toString("latin1");
    known.set(lastSpan, found);
    last = found;
    return found;
  }

  return {
    name,
    arity: -5,
    isCheck: true,
    hasKey: true,
    run({ owner }: Session, args: Arguments) {
      if (owner === undefined) return NO_AUTH;
      if (args.count > QUANTITY + 1)
        return badArgument("arguments", `${name} takes key, max_burst, count, period and quantity`);
      const limit = limitIn(args);
      if (limit instanceof ErrorReply) return limit;
      const quantity = args.count > QUANTITY ? wholeNumber(args.argument(QUANTITY)) : 1;
      if (quantity === undefined) return notWhole("quantity", 0);
      const answer = limits.take(owner.rule, args.argument(KEY), limit.limit, quantity);
      // Without `after`, to save a closure.
      if (!isPromise(answer)) {
        decided(owner.rule, answer.allowed, answer.source);
        return dialect.reply(limit, answer, quantity);
      }
      return after(answer, (answer) => {
        decided(owner.rule, answer.allowed, answer.source);
        return dialect.reply(limit, answer, quantity);
      });
    },
    ...(memory && {
      runAlike({ owner }: Session, args: PipelinedArguments, most: number) {
        if (owner === undefined || args.count > QUANTITY + 1) return undefined;
        const limit = limitIn(args);
        const quantity = args.count > QUANTITY ? wholeNumber(args.argument(QUANTITY)) : 1;
        // What it says about wrong arguments, and looking without taking, is not worth a second implementation.
        if (limit instanceof ErrorReply || quantity === undefined || quantity === 0) return undefined;
        const { rule } = owner;
        const { out } = memory;
        const rows = memory.rowsOf(rule, limit.limit);
        // Commands that arrived together are decided at one time.
        const now = memory.clock.now();
        let text = "";
        let count = 0;
        do {
          args.point(KEY);
          rows.takePart(limit.limit, args.source, args.start, args.end, quantity, now, out);
          decided(rule, out.allowed, "store");
          text += dialect.reply(limit, out, quantity);
          count += 1;
        } while (count < most && args.nextAlike(KEY));
        return { text, count };
      },
    }),
  };
}

function readLimit(args: Arguments, dialect: ThrottleDialect): ThrottleLimit | ErrorReply {
  const maxBurst = wholeNumber(args.argument(MAX_BURST));
  if (maxBurst === undefined || maxBurst < dialect.smallestBurst) return notWhole("max_burst", dialect.smallestBurst);
  const count = wholeNumber(args.argument(MAX_BURST + 1));
  if (count === undefined || count < 1) return notWhole("count", 1);
  const period = wholeNumber(args.argument(PERIOD));
  if (period === undefined || period < 1) return notWhole("period", 1);
  if (count > period * 1e9) return badArgument("count", "must be at most 1,000,000,000 a second");
  try {
    return dialect.limit(maxBurst, count, period);
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    return badArgument("max_burst, count and period", error.problem);
  }
}

function notWhole(name: string, smallest: number): ErrorReply {
  return badArgument(name, `must be a whole number from ${smallest} to 2^53 - 1`);
}
