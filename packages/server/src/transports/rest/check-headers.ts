import { tokenBucket } from "headgate";
import {
  type HeaderField,
  HeaderWriter,
  type LimitState,
  Policy,
  type ReportedState,
  stateHeader,
} from "headgate/http";
import type { CheckResult, LimitResult, UsageState } from "../../checks/check.ts";

/** Headers need only the units and the window of a limit; this supplies the rest. */
const ANY = tokenBucket("1/s");
/** More than most services have rules. Beyond it, the cache is cleared. */
const MOST_POLICIES = 10_000;
/** The most policies in the headers of a response. Clients reject responses with more than about 16 kB of headers. */
const MOST_WRITTEN = 16;

/** A limit as stated in headers, with the writer for requests that have no other limit. */
interface Stated {
  readonly policy: Policy;
  readonly writer: HeaderWriter;
  /** By state; there is none for normal. */
  readonly states: Readonly<Record<UsageState, HeaderField | undefined>>;
}

/** Writes the headers of the middleware: RateLimit-Policy, RateLimit, Retry-After, Headgate-State. */
export class CheckHeaders {
  private readonly stated = new Map<string, Stated>();

  write(result: CheckResult): HeaderField[] {
    const { limits, decisive } = result;
    if (decisive === undefined) return [];
    if (limits.length > 1) return this.several(written(limits, decisive), decisive);
    const { writer, states } = this.statedOf(decisive);
    const headers = writer.write(standingOf(decisive));
    const state = states[decisive.state];
    if (state !== undefined) headers.push(state);
    return headers;
  }

  private several(limits: readonly LimitResult[], decisive: LimitResult): HeaderField[] {
    const policies = limits.map((limit) => this.statedOf(limit).policy);
    const decisions = limits.map(standingOf);
    const headers = writerOf(policies).write({ ...standingOf(decisive), decisions });
    const reported = limits.flatMap(({ state }, i): ReportedState[] =>
      state === "normal" ? [] : [{ policy: policies[i], state }],
    );
    if (reported.length > 0) headers.push(stateHeader(reported));
    return headers;
  }

  private statedOf({ rule_id, limit, window_seconds, burst }: LimitResult): Stated {
    const known = this.stated.get(rule_id);
    const window = window_seconds * 1_000_000;
    if (known !== undefined) {
      const { limit: reported } = known.policy;
      if (reported.limit === limit && reported.window === window && reported.burst === burst) return known;
    }
    const policy = new Policy(rule_id, { ...ANY, limit, window, burst });
    const states = {
      normal: undefined,
      warning: stateHeader([{ policy, state: "warning" }]),
      throttled: stateHeader([{ policy, state: "throttled" }]),
    };
    const stated = { policy, writer: writerOf([policy]), states };
    if (this.stated.size >= MOST_POLICIES) this.stated.clear();
    this.stated.set(rule_id, stated);
    return stated;
  }
}

/** The limits stated in headers, in their order: the one that decided, and those with the least quota left. */
function written(limits: readonly LimitResult[], decisive: LimitResult): readonly LimitResult[] {
  if (limits.length <= MOST_WRITTEN) return limits;
  const others = limits.filter((limit) => limit !== decisive).sort((a, b) => a.remaining - b.remaining);
  const chosen = new Set([decisive, ...others.slice(0, MOST_WRITTEN - 1)]);
  return limits.filter((limit) => chosen.has(limit));
}

function writerOf(policies: readonly Policy[]): HeaderWriter {
  return new HeaderWriter(["draft"], policies);
}

function standingOf(result: LimitResult): LimitState {
  const { allowed, limit, remaining } = result;
  return {
    allowed,
    limit,
    remaining,
    retryAfterMs: result.retry_after_ms,
    resetAfterMs: result.reset_after_ms,
    retryAtMs: result.retry_at_ms,
    resetAtMs: result.reset_at_ms,
  };
}
