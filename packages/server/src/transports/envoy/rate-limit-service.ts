import {
  type ApplyOptions,
  type Decision,
  HeadgateError,
  type Operation,
  type Rule,
  type Store,
  type Verdict,
} from "headgate";
import { PROBLEM_TYPE } from "headgate/http";
import { decide } from "headgate/store";
import type { Stores } from "../../checks/counter-stores.ts";
import { RequestError } from "../../checks/request-error.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import type { Consistency } from "../../rules/rule.ts";
import { problemBody } from "../rest/problem.ts";
import { BlockingStore } from "./blocking-store.ts";
import type { Code, Descriptor, DescriptorStatus, Entry, RateLimitAnswer, RateLimitRequest } from "./descriptor.ts";
import { type Match, matchOf } from "./descriptor-tree.ts";
import type { Domains } from "./envoy-config.ts";
import { CallLimitCache, type ConfiguredLimit, isBlocked } from "./envoy-limit.ts";
import type { Decided, LimitHeaders } from "./limit-headers.ts";

/** More descriptors than a filter sends. */
const MOST_DESCRIPTORS = 100;
/** Remaining units of a descriptor without a limit: the largest number of the API. */
const UNLIMITED = 2 ** 32 - 1;

export interface RateLimitServiceOptions {
  readonly stores: Pick<Stores, Consistency>;
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
    for (const [i, { place }] of counted.entries()) byPlace[place] = decisions[i];
    const statuses = matches.map((match, place) => this.statusOf(match, descriptors[place], byPlace[place]));
    const enforced: Decided[] = [];
    for (const [i, { place, limit, isRefund }] of counted.entries()) {
      const decision = decisions[i];
      this.note(limit, decision);
      if (!limit.isShadow && !isRefund) enforced.push({ limit, decision, status: statuses[place] });
    }
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
    const verdicts = await this.takeTogether(rest, known, options);
    for (const [i, each] of rest.entries()) known.set(each, verdicts[i]);
    return counted.map((each) => required(known.get(each)));
  }

  private decideAlone(each: Counted, options: ApplyOptions): Promise<Decision> {
    const { limit, operation, isRefund } = each;
    // Nothing can be taken from a limit of 0.
    const charge = limit.charge === "always" ? "charge" : isBlocked(limit) ? "peek" : "take";
    return this.ask(isRefund ? "refund" : operation.cost === 0 ? "peek" : charge, each, options);
  }

  /** All or nothing. `known`: what is decided about the other descriptors of the request. */
  private async takeTogether(
    all: readonly Counted[],
    known: ReadonlyMap<Counted, Decision>,
    options: ApplyOptions,
  ): Promise<readonly Decision[]> {
    if (all.length === 0) return [];
    const hasOpenQuota = all.some(({ limit }) => limit.isQuota);
    if (isDenied([...known], hasOpenQuota)) return Promise.all(all.map((each) => this.ask("peek", each, options)));
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
    return this.takeApart(all, known, options);
  }

  /** Takes from each, and returns what was taken if the request is denied. */
  private async takeApart(
    all: readonly Counted[],
    known: ReadonlyMap<Counted, Decision>,
    options: ApplyOptions,
  ): Promise<readonly Decision[]> {
    const decisions = await Promise.all(all.map((each) => this.ask("take", each, options)));
    if (!isDenied([...known, ...all.map((each, i) => [each, decisions[i]] as const)], false)) return decisions;
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

  private storeOf(limit: ConfiguredLimit): Pick<Store, "apply"> {
    const store = this.options.stores[limit.consistency];
    return isBlocked(limit) ? new BlockingStore(store) : store;
  }

  private note({ path, isShadow }: ConfiguredLimit, decision: Decision): void {
    const { telemetry } = this.options;
    if (isShadow) telemetry.countedShadow(decision);
    else telemetry.counted(path, decision.allowed, decision.source, 1);
  }

  private statusOf(
    match: Match | undefined,
    { isRefund }: Descriptor,
    decision: Decision | undefined,
  ): DescriptorStatus {
    if (match === undefined) return { code: "OK", remaining: 0 };
    const { limit } = match;
    if (limit.isUnlimited) return { code: "OK", remaining: UNLIMITED };
    const { requestsPerUnit, unit, name } = limit;
    const { allowed, remaining } = required(decision);
    return {
      code: allowed || isRefund || limit.isShadow ? "OK" : "OVER_LIMIT",
      limit: { requestsPerUnit, unit, name },
      remaining: Math.min(Math.floor(remaining), UNLIMITED),
      resetSeconds: this.resetOf(limit, required(decision)),
    };
  }

  /** Clock-aligned windows end at a known time, however much of them is used. */
  private resetOf(limit: ConfiguredLimit, decision: Decision): number {
    return limit.isAligned ? this.untilWindowEnds(limit, decision.timeMs) : Math.ceil(decision.resetAfterMs / 1000);
  }

  private untilWindowEnds({ windowSeconds }: ConfiguredLimit, nowMs: number): number {
    return windowSeconds - (Math.floor(nowMs / 1000) % windowSeconds);
  }
}

/** Whether it is decided without regard to the other descriptors. */
function isIndependent({ limit, operation, isRefund }: Counted): boolean {
  return isRefund || operation.cost === 0 || limit.charge === "always" || isBlocked(limit);
}

/**
 * Whether the request is denied: by one of its limits, or by all of those in quota mode. `hasOpenQuota`: whether there
 * are limits in quota mode that are not decided yet.
 */
function isDenied(decided: readonly (readonly [Counted, Decision])[], hasOpenQuota: boolean): boolean {
  const isOver = ([{ limit, isRefund }, { allowed }]: readonly [Counted, Decision]): boolean =>
    !allowed && !limit.isShadow && !isRefund;
  if (decided.some((each) => !each[0].limit.isQuota && isOver(each))) return true;
  // Also refunds, as in `overallCode`.
  const quotas = decided.filter(([{ limit }]) => limit.isQuota);
  return !hasOpenQuota && quotas.length > 0 && quotas.every(isOver);
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
