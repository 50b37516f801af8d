import type { Decision } from "headgate";
import { HeaderWriter, Policy } from "headgate/http";
import type { DescriptorStatus, Header } from "./descriptor.ts";
import { type ConfiguredLimit, isBlocked } from "./envoy-limit.ts";
import type { HeaderForms } from "./header-forms.ts";

/** Clients reject responses with more than about 16 kB of headers. */
const MOST_WRITTEN = 16;

/** A decision, the limit that it is about, and what the answer says of it. */
export interface Decided {
  readonly limit: ConfiguredLimit;
  readonly decision: Decision;
  readonly status: DescriptorStatus;
}

/** Writes the headers of a response from the decisions about its descriptors. */
export class LimitHeaders {
  private readonly isIetf: boolean;
  private readonly isTheirs: boolean;
  private readonly policies = new WeakMap<ConfiguredLimit, Policy>();
  /** For responses that one limit has decided, as most. */
  private readonly writers = new WeakMap<ConfiguredLimit, HeaderWriter>();

  constructor(forms: HeaderForms) {
    this.isIetf = forms === "ietf" || forms === "both";
    this.isTheirs = forms === "ratelimit" || forms === "both";
  }

  write(decided: readonly Decided[]): Header[] {
    if (decided.length === 0) return [];
    const tightest = decided.length === 1 ? decided : [...decided].sort(tighter).slice(0, MOST_WRITTEN);
    const [{ decision: deciding }] = tightest;
    const headers: Header[] = [];
    if (this.isIetf) {
      const decisions = tightest.length === 1 ? undefined : tightest.map(({ decision }) => decision);
      headers.push(...this.writerOf(tightest).write(deciding, decisions));
    }
    if (this.isTheirs) headers.push(...theirHeaders(decided));
    return headers.map(({ name, value }) => ({ name, value }));
  }

  private writerOf(decided: readonly Decided[]): HeaderWriter {
    const [{ limit }] = decided;
    const known = decided.length === 1 ? this.writers.get(limit) : undefined;
    if (known !== undefined) return known;
    const writer = new HeaderWriter(
      ["draft"],
      decided.map((each) => this.policyOf(each)),
    );
    if (decided.length === 1) this.writers.set(limit, writer);
    return writer;
  }

  private policyOf({ limit }: Decided): Policy {
    const known = this.policies.get(limit);
    if (known !== undefined) return known;
    const stated = limit.ownLimit ?? limit.rule?.limit;
    if (stated === undefined) throw new Error("a limit that was decided has a rule");
    const policy = new Policy(limit.path, isBlocked(limit) ? { ...stated, limit: 0, burst: 0 } : stated);
    this.policies.set(limit, policy);
    return policy;
  }
}

/** Denials first, those with the longest wait at the top; then the least left. */
function tighter({ decision: a }: Decided, { decision: b }: Decided): number {
  if (a.allowed !== b.allowed) return a.allowed ? 1 : -1;
  return a.allowed ? a.remaining - b.remaining : b.retryAfterMs - a.retryAfterMs;
}

/** The headers of envoyproxy/ratelimit, about the limit that it would choose: the last that denies, else the tightest. */
function theirHeaders(decided: readonly Decided[]): Header[] {
  const denying = decided.filter(({ status, limit }) => status.code !== "OK" && !limit.isQuota).at(-1);
  const { status } = denying ?? decided.reduce((a, b) => (b.status.remaining < a.status.remaining ? b : a));
  return [
    { name: "RateLimit-Limit", value: String(status.limit?.requestsPerUnit ?? 0) },
    { name: "RateLimit-Remaining", value: String(status.remaining) },
    { name: "RateLimit-Reset", value: String(status.resetSeconds ?? 0) },
  ];
}
