import type { Verdict } from "headgate";
import { type HeaderField, HeaderWriter, Policy } from "headgate/http";
import type { CheckResult } from "../../checks/check.ts";
import type { AppliedLimit } from "../../rules/shared-counter.ts";

/** More than most services have rules. Beyond it, the cache is cleared. */
const MOST_POLICIES = 10_000;
/** The most policies in the headers of a response. Clients reject responses with more than about 16 kB of headers. */
const MOST_WRITTEN = 16;

/** A limit as stated in headers, with the writer for requests that have no other limit. */
interface Stated {
  readonly policy: Policy;
  readonly writer: HeaderWriter;
}

/**
 * Writes the headers of the middleware (RateLimit-Policy, RateLimit, Retry-After, Headgate-State), and
 * Headgate-Not-Applied for rules that only reservations apply.
 */
export class CheckHeaders {
  private readonly stated = new Map<string, Stated>();

  write(result: CheckResult): HeaderField[] {
    const { slots } = result.plan;
    const fields = this.decided(result);
    if (slots.length > 0) fields.push({ name: "Headgate-Not-Applied", value: this.listed(slots) });
    return fields;
  }

  private listed(limits: readonly AppliedLimit[]): string {
    const named = limits.slice(0, MOST_WRITTEN).map((limit) => this.statedOf(limit).policy.quoted);
    return named.join(", ");
  }

  private decided({ verdict, plan }: CheckResult): HeaderField[] {
    if (verdict === undefined) return [];
    const { deciding, decisions } = verdict;
    if (decisions.length === 1) return this.statedOf(plan.enforced[0]).writer.write(deciding);
    const places = written(verdict);
    const policies = places.map((i) => this.statedOf(plan.enforced[i]).policy);
    return writerOf(policies).write(
      deciding,
      places.map((i) => decisions[i]),
    );
  }

  private statedOf({ rule, limit }: AppliedLimit): Stated {
    const known = this.stated.get(rule.name);
    if (known?.policy.limit === limit) return known;
    const policy = new Policy(rule.name, limit);
    const stated = { policy, writer: writerOf([policy]) };
    if (this.stated.size >= MOST_POLICIES) this.stated.clear();
    this.stated.set(rule.name, stated);
    return stated;
  }
}

/** The places of the decisions stated in headers: the one that decided, and those with the least quota left. */
function written({ deciding, decisions }: Verdict): readonly number[] {
  const places = [...decisions.keys()];
  if (places.length <= MOST_WRITTEN) return places;
  const left = (i: number): number => (decisions[i] === deciding ? -1 : decisions[i].remaining);
  const chosen = [...places].sort((a, b) => left(a) - left(b)).slice(0, MOST_WRITTEN);
  return chosen.sort((a, b) => a - b);
}

function writerOf(policies: readonly Policy[]): HeaderWriter {
  return new HeaderWriter(["draft"], policies);
}
