import {
  type ApplyOptions,
  type Decision,
  decide,
  HeadgateError,
  type Operation,
  type Rule,
  type Verdict,
} from "headgate";
import { PROBLEM_TYPE } from "headgate/http";
import type { Stores } from "../../checks/counter-stores.ts";
import { RequestError } from "../../checks/request-error.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import type { Consistency } from "../../rules/rule.ts";
import { problemBody } from "../rest/problem.ts";
import type { Code, Descriptor, DescriptorStatus, Entry, RateLimitAnswer, RateLimitRequest } from "./descriptor.ts";
import { type Match, matchOf } from "./descriptor-tree.ts";
import type { Domains } from "./envoy-config.ts";
import { CallLimitCache, type ConfiguredLimit } from "./envoy-limit.ts";
import type { Decided, LimitHeaders } from "./limit-headers.ts";

/** More descriptors than a filter sends. */
const MOST_DESCRIPTORS = 100;
/** Remaining units of a descriptor without a limit: the largest number of the API. */
const UNLIMITED = 2 ** 32 - 1;

export interface RateLimitServiceOptions {
  readonly stores: Pick<Stores, Consistency | "clock">;
  readonly domains: () => Domains;
  readonly telemetry: Pick<Telemetry, "counted" | "countedShadow">;
  readonly headers: LimitHeaders;
}

/** A descriptor that is counted. */
interface Counted {
  readonly place: number;
  readonly limit: ConfiguredLimit;
  readonly operation: Operation;
  readonly isRefund: boolean;
}

/** Decides requests of Envoy's rate limit filter. */
export class RateLimitService {
  private readonly options: RateLimitServiceOptions;
  private readonly callLimits = new CallLimitCache();

  constructor(options: RateLimitServiceOptions) {
    this.options = options;
  }

  /** `answerWithinMs`: how long the caller waits. */
  async decide(request: RateLimitRequest, answerWithinMs: number): Promise<RateLimitAnswer> {
    requireRequest(request);
    const { domain, descriptors } = request;
    const matches = replaced(descriptors.map((descriptor) => this.match(domain, descriptor)));
    const counted: Counted[] = [];
    for (const [place, match] of matches.entries()) {
      const rule = match?.limit.rule;
      if (match === undefined || rule === undefined) continue;
      const { hits, isRefund } = descriptors[place];
      const cost = hits ?? Math.max(1, request.hits);
      const operation = operationOf(rule, keyOf(domain, match.entries), cost, match);
      counted.push({ place, limit: match.limit, operation, isRefund });
    }
    const decisions = await this.decisions(counted, { answerWithin: answerWithinMs * 1000 });
    const byPlace = new Array<Decision | undefined>(matches.length).fill(undefined);
    const enforced: Decided[] = [];
    for (const [i, { place, limit, isRefund }] of counted.entries()) {
      const decision = decisions[i];
      byPlace[place] = decision;
      this.note(limit, decision);
      if (!limit.isShadow && !isRefund) enforced.push({ limit, decision });
    }
    const statuses = matches.map((match, place) => this.statusOf(match, descriptors[place], byPlace[place]));
    const code = overallCode(statuses, matches);
    const headers = this.options.headers.write(enforced);
    if (code === "OK") return { code, statuses, headers, body: "" };
    const violated = matches.flatMap((match, i) => (statuses[i].code === "OK" ? [] : (match?.limit.path ?? [])));
    return {
      code,
      statuses,
      headers: [...headers, { name: "content-type", value: PROBLEM_TYPE }],
      body: JSON.stringify(problemBody("quota_exceeded", undefined, { "violated-policies": [...new Set(violated)] })),
    };
  }

  private match(domain: string, { entries, limit }: Descriptor): Match | undefined {
    if (limit !== undefined) return { limit: this.callLimits.of(limit), entries };
    const root = this.options.domains().get(domain);
    return root === undefined ? undefined : matchOf(root, entries);
  }

  /**
   * First what is charged in any case. The rest is charged only if the request is admitted, so it follows when that is
   * known.
   */
  private async decisions(counted: readonly Counted[], options: ApplyOptions): Promise<readonly Decision[]> {
    // Most requests have one descriptor.
    if (counted.length === 1) return [await this.decideAlone(counted[0], options)];
    const first = counted.filter((each) => isIndependent(each));
    const rest = counted.filter((each) => !isIndependent(each));
    const known = new Map<Counted, Decision>();
    await Promise.all(first.map(async (each) => known.set(each, await this.decideAlone(each, options))));
    const isDenied = first.some((each) => !each.isRefund && isDenial(each, known.get(each)));
    const verdicts = await this.takeTogether(rest, isDenied, options);
    for (const [i, each] of rest.entries()) known.set(each, verdicts[i]);
    return counted.map((each) => required(known.get(each)));
  }

  private decideAlone(each: Counted, options: ApplyOptions): Promise<Decision> {
    const { limit, operation, isRefund } = each;
    const charge = limit.charge === "always" ? "charge" : "take";
    return this.ask(isRefund ? "refund" : operation.cost === 0 ? "peek" : charge, each, options);
  }

  /** All or nothing. */
  private async takeTogether(
    all: readonly Counted[],
    isDenied: boolean,
    options: ApplyOptions,
  ): Promise<readonly Decision[]> {
    if (all.length === 0) return [];
    if (isDenied) return Promise.all(all.map((each) => this.ask("peek", each, options)));
    if (all.length === 1) return [await this.ask("take", all[0], options)];
    const [{ limit }] = all;
    if (isOneRequest(all)) {
      try {
        const operations = all.map(({ operation }) => operation);
        const verdict: Verdict = await decide(this.storeOf(limit), "take", operations, options);
        return verdict.decisions;
      } catch (error) {
        // Their keys are on different servers or workers.
        if (!(error instanceof HeadgateError) || error.code !== "HG_KEYS_APART") throw error;
      }
    }
    return this.takeApart(all, options);
  }

  /** Takes from each, and returns what was taken if one of them denies. */
  private async takeApart(all: readonly Counted[], options: ApplyOptions): Promise<readonly Decision[]> {
    const decisions = await Promise.all(all.map((each) => this.ask("take", each, options)));
    if (!all.some((each, i) => isDenial(each, decisions[i]))) return decisions;
    const taken = all.filter((each, i) => decisions[i].allowed && !each.limit.isShadow);
    await Promise.all(taken.map((each) => this.ask("refund", each, options)));
    return decisions;
  }

  private async ask(
    action: "take" | "charge" | "peek" | "refund",
    each: Counted,
    options: ApplyOptions,
  ): Promise<Decision> {
    return (await decide(this.storeOf(each.limit), action, [each.operation], options)).deciding;
  }

  private storeOf({ consistency }: ConfiguredLimit): Stores[Consistency] {
    return this.options.stores[consistency];
  }

  private note({ path, isShadow }: ConfiguredLimit, decision: Decision): void {
    const { telemetry } = this.options;
    if (isShadow) telemetry.countedShadow(decision);
    else telemetry.counted(path, decision.allowed, decision.source, 1);
  }

  private statusOf(
    match: Match | undefined,
    { hits, isRefund }: Descriptor,
    decision: Decision | undefined,
  ): DescriptorStatus {
    if (match === undefined) return { code: "OK", remaining: 0 };
    const { limit } = match;
    if (limit.isUnlimited) return { code: "OK", remaining: UNLIMITED };
    const { requestsPerUnit, unit, name } = limit;
    const stated = { requestsPerUnit, unit, name };
    if (decision === undefined) {
      // A limit of 0 admits nothing.
      const code = hits === 0 || isRefund || limit.isShadow ? "OK" : "OVER_LIMIT";
      return { code, limit: stated, remaining: 0, resetSeconds: this.untilWindowEnds(limit, this.nowMs) };
    }
    return {
      code: decision.allowed || isRefund || limit.isShadow ? "OK" : "OVER_LIMIT",
      limit: stated,
      remaining: Math.min(Math.floor(decision.remaining), UNLIMITED),
      resetSeconds: this.resetOf(limit, decision),
    };
  }

  /** Clock-aligned windows end at a known time, however much of them is used. */
  private resetOf(limit: ConfiguredLimit, decision: Decision): number {
    return limit.isAligned ? this.untilWindowEnds(limit, decision.timeMs) : Math.ceil(decision.resetAfterMs / 1000);
  }

  private untilWindowEnds({ windowSeconds }: ConfiguredLimit, nowMs: number): number {
    return windowSeconds - (Math.floor(nowMs / 1000) % windowSeconds);
  }

  private get nowMs(): number {
    return this.options.stores.clock.now() / 1000;
  }
}

/** Whether it is decided without regard to the other descriptors. */
function isIndependent({ limit, operation, isRefund }: Counted): boolean {
  return isRefund || operation.cost === 0 || limit.charge === "always";
}

function isDenial({ limit }: Counted, decision: Decision | undefined): boolean {
  return decision?.allowed === false && !limit.isShadow && !limit.isQuota;
}

/** Whether one store can decide them all or nothing: it needs each row once, and all of them must deny. */
function isOneRequest(all: readonly Counted[]): boolean {
  const [{ limit }] = all;
  const rows = new Set(
    all.map(({ operation: { rule, key } }) => JSON.stringify([rule.counter, rule.limit.algorithm, key])),
  );
  return (
    rows.size === all.length &&
    all.every(
      ({ limit: { consistency, isShadow, isQuota } }) => consistency === limit.consistency && !isShadow && !isQuota,
    )
  );
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("every counted descriptor must have a decision");
  return value;
}

function operationOf(rule: Rule, key: string, cost: number, { limit }: Match): Operation {
  return limit.ownLimit === undefined ? { rule, key, cost } : { rule, key, cost, limit: limit.ownLimit };
}

/** Limits that another one replaces do not apply. */
function replaced(matches: readonly (Match | undefined)[]): readonly (Match | undefined)[] {
  if (matches.every((match) => match === undefined || match.limit.replaces.length === 0)) return matches;
  const names = new Set(matches.flatMap((match) => match?.limit.replaces ?? []));
  return matches.map((match) => {
    if (match === undefined || match.limit.isUnlimited || match.limit.name === "") return match;
    return names.has(match.limit.name) ? undefined : match;
  });
}

/** The whole is over its limit if one of the limits is, or all of those in quota mode. */
function overallCode(statuses: readonly DescriptorStatus[], matches: readonly (Match | undefined)[]): Code {
  let quotas = 0;
  let quotasOver = 0;
  for (let i = 0; i < statuses.length; i += 1) {
    const limit = matches[i]?.limit;
    const isOver = statuses[i].code !== "OK";
    if (limit?.isQuota && !limit.isUnlimited) {
      quotas += 1;
      if (isOver) quotasOver += 1;
    } else if (isOver) return "OVER_LIMIT";
  }
  return quotas > 0 && quotas === quotasOver ? "OVER_LIMIT" : "OK";
}

/** What a descriptor is counted under. As JSON, so that no two descriptors have the same key. */
function keyOf(domain: string, entries: readonly Entry[]): string {
  return JSON.stringify([domain, ...entries.map(({ key, value }) => [key, value])]);
}

function requireRequest({ domain, descriptors }: RateLimitRequest): void {
  if (domain === "") throw new RequestError("domain", "must not be empty");
  if (descriptors.length === 0) throw new RequestError("descriptors", "must not be empty");
  if (descriptors.length > MOST_DESCRIPTORS) {
    throw new RequestError("descriptors", `must have at most ${MOST_DESCRIPTORS}, got ${descriptors.length}`);
  }
  for (const [i, { entries }] of descriptors.entries()) {
    if (entries.length === 0) throw new RequestError(`descriptors[${i}].entries`, "must not be empty");
    if (entries.some(({ key }) => key === "")) throw new RequestError(`descriptors[${i}].entries`, "need keys");
  }
}
