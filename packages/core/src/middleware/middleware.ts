import { traitsOf } from "../algorithms/lookup.ts";
import { SystemClock } from "../clock/system-clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Decision } from "../limiter/decision.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { after, each, isPromise, type MaybePromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { Check } from "../limiter/requests.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { UsageStates } from "../limiter/usage-states.ts";
import type { Verdict } from "../limiter/verdict.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { ClientAddress } from "./address/client-address.ts";
import type { Admission, Denied, Passed } from "./admission.ts";
import type { Charge } from "./charge.ts";
import { Charging, type Taking } from "./charging.ts";
import { DenialResponses } from "./denial-response.ts";
import { Policy } from "./headers/policy.ts";
import { type HeaderField, type HeaderForm, HeaderWriter, requireForms } from "./headers/response-headers.ts";
import { type Identify, requireBy } from "./identity.ts";
import {
  type MiddlewareRule,
  type RulesOrOptions,
  requireAttainable,
  requireCostOf,
  requireLimits,
  requireMiddlewareOptions,
} from "./middleware-options.ts";
import { Notices, processNotices } from "./notices.ts";
import { type Ending, requireRefundOn } from "./refund-on.ts";
import type { RequestAdapter } from "./request-adapter.ts";
import { take } from "./run-checks.ts";
import { forgetReserved, type Settle, settleEarlier, settleNothing, settleWithEarlier } from "./settle.ts";
import { errorOf } from "./thrown-error.ts";

/** One limit of the middleware, with its options resolved. */
interface Ready<Name extends string, Request> {
  readonly rule: Name;
  readonly identify: Identify<Request>;
  readonly cost: (request: Request) => MaybePromise<number>;
  readonly reserves: boolean;
  readonly slots: boolean;
  readonly states: UsageStates | undefined;
}

/** Texts derived from the limits. Rebuilt only when a limit changes. */
interface Texts {
  readonly policies: readonly Policy[];
  readonly writer: HeaderWriter;
  readonly denials: DenialResponses;
}

/**
 * The framework-independent part of the middleware: determines the key and the cost of a request, decides, and builds
 * the headers. An adapter provides access to the request through a `RequestAdapter` and carries out the resulting
 * `Admission`, which is returned without a promise where possible.
 *
 * A failing store never fails the request. Errors thrown by `by`, `cost` and `skip` propagate to the framework, like
 * errors in a handler.
 */
export class RateLimitMiddleware<R extends Rules, Request extends object> {
  /** Whether `ended` must be called when the response has ended. */
  readonly watches: boolean;
  private readonly limiter: Limiter<R>;
  private readonly limits: readonly Ready<RuleName<R>, Request>[];
  private readonly skip: ((request: Request) => MaybePromise<boolean>) | undefined;
  private readonly refundOn: ((ending: Ending) => boolean) | undefined;
  private readonly names: readonly RuleName<R>[];
  /** Whether the cost of any limit is an estimate. */
  private readonly reserves: boolean;
  /** Present if a charge may have to be corrected afterwards. */
  private readonly charging: Charging<R> | undefined;
  private readonly failOpen: boolean;
  private readonly notices: Notices;
  private readonly forms: readonly HeaderForm[];
  private texts: Texts;

  /** `more` names the functions that the framework reads itself. */
  constructor(
    limiter: Limiter<R> | MemoryLimiter<R>,
    given: RulesOrOptions<NoInfer<RuleName<R>>, Request>,
    adapter: RequestAdapter<Request>,
    more: readonly string[] = [],
  ) {
    if (typeof limiter?.check !== "function") {
      throw new HeadgateError("HG_BAD_OPTION", "limiter", `must be made by rateLimiter, got ${shown(limiter)}`);
    }
    const options = requireMiddlewareOptions<RuleName<R>, Request, object>(given, more);
    const { by = "ip", cost = 1, skip, warn, refundOn, onStoreFailure = "allow", onNotice } = options;
    const { clock = new SystemClock(), reserveForMs = 60_000 } = options;
    const notices = onNotice === undefined ? processNotices : new Notices(onNotice);
    const address = new ClientAddress(adapter, options, notices);
    const ready = (limit: MiddlewareRule<RuleName<R>, Request>): Ready<RuleName<R>, Request> => {
      const slots = traitsOf(limiter.limitOf(limit.rule)).releasable === true;
      const field = limit.reserve === undefined ? "cost" : "reserve";
      const taken = limit.reserve ?? limit.cost ?? (slots ? 1 : cost);
      const costOf = requireCostOf(taken, field);
      requireAttainable(taken, limiter.limitOf(limit.rule), limit.rule, field);
      return {
        rule: limit.rule,
        identify: requireBy(limit.by ?? by, adapter, address, notices, "by"),
        cost: costOf,
        reserves: limit.reserve !== undefined,
        slots,
        states: warn === false ? undefined : new UsageStates(warn),
      };
    };
    this.limiter = limiter;
    this.notices = notices;
    this.limits = requireLimits(options.rules, options.concurrency, (rule) => limiter.limitOf(rule)).map(ready);
    this.skip = skip;
    this.refundOn = refundOn === undefined ? undefined : requireRefundOn(refundOn);
    this.names = this.limits.map(({ rule }) => rule);
    this.reserves = this.limits.some(({ reserves }) => reserves);
    const hasSlots = this.limits.some(({ slots }) => slots);
    this.watches = this.refundOn !== undefined || this.reserves || hasSlots;
    if (this.watches) {
      const settings = { notices, forMs: reserveForMs, clock: options.clock, now: () => clock.now() };
      this.charging = new Charging(limiter, this.limits, settings);
    }
    this.failOpen = onStoreFailure === "allow";
    this.forms = requireForms(options.headers);
    this.texts = this.write();
  }

  /** Decides a request, and charges it if it is admitted. Throws, or rejects, only with an Error. */
  admit(request: Request): MaybePromise<Admission> {
    try {
      const admission = this.decideUnlessSkipped(request);
      return isPromise(admission) ? admission.then(undefined, throwError) : admission;
    } catch (reason) {
      return throwError(reason);
    }
  }

  private decideUnlessSkipped(request: Request): MaybePromise<Admission> {
    if (this.skip === undefined) return this.decide(request);
    return after(this.skip(request), (skipped) => (skipped ? this.uncharged(request) : this.decide(request)));
  }

  private decide(request: Request): MaybePromise<Admission> {
    const checks = each(this.limits, (limit) => checkOf(limit, request));
    return after(checks, (checks) => this.ask(request, checks));
  }

  private ask(request: Request, checks: readonly Check<RuleName<R>>[]): MaybePromise<Admission> {
    if (this.charging !== undefined) {
      const next = ({ decided, charge }: Taking<R>) => this.answer(request, checks, decided, charge);
      return this.unlessFails(request, this.charging.take(checks), next);
    }
    return this.unlessFails(request, take(this.limiter, checks), (decided) => this.answer(request, checks, decided));
  }

  private unlessFails<Value>(
    request: Request,
    given: MaybePromise<Value>,
    next: (value: Value) => Admission,
  ): MaybePromise<Admission> {
    return isPromise(given) ? given.then(next, (error: unknown) => this.withoutStore(request, error)) : next(given);
  }

  private answer(
    request: Request,
    checks: readonly Check<RuleName<R>>[],
    decided: Decision | Verdict,
    charge?: Charge<R>,
  ): Admission {
    const headers = this.headers(checks, decided);
    if (!decided.allowed) return this.denied(decided, headers);
    if (charge === undefined) return passed(headers, decided, settleEarlier(request));
    return {
      allowed: true,
      headers,
      decided,
      settle: this.settleOf(request, (cost) => charge.settle(cost)),
      ended: (ending) => this.ended(request, charge, ending),
    };
  }

  /** Lets a request pass without a charge, because it was skipped or the store did not answer. */
  private uncharged(request: Request): Passed {
    return passed([], undefined, this.settleOf(request, settleNothing));
  }

  private settleOf(request: Request, own: Settle): Settle {
    return this.reserves ? settleWithEarlier(request, own) : settleEarlier(request);
  }

  private headers(checks: readonly Check<RuleName<R>>[], decided: Decision | Verdict): HeaderField[] {
    const { writer } = this.current();
    if (!("decisions" in decided)) {
      this.limits[0].states?.enter(checks[0].key, decided);
      return writer.write(decided);
    }
    const { deciding, decisions } = decided;
    for (let i = 0; i < decisions.length; i += 1) this.limits[i].states?.enter(checks[i].key, decisions[i]);
    return writer.write(deciding, decisions);
  }

  private async ended(request: Request, charge: Charge<R>, ending: Ending): Promise<void> {
    forgetReserved(request);
    // A slot that cannot be returned now is returned later, or its lease ends.
    const returned = charge.releaseSlots().catch(() => {});
    try {
      await this.correct(charge, ending);
    } catch (error) {
      // The response is already being sent, so the error cannot be reported to the client.
      this.notices.give("HG_REFUND_LOST", "refundOn failed", error);
    }
    await returned;
  }

  private async correct(charge: Charge<R>, ending: Ending): Promise<void> {
    if (this.refundOn?.(ending)) return charge.refund();
    // A request that failed is not charged unless a cost was settled. One that has sent a response is charged the
    // estimate, even if the client disconnects during the response: reading most of a stream must not be free.
    if (charge.open) return failed(ending) ? charge.release() : charge.keep();
  }

  private denied(decided: Decision | Verdict, headers: HeaderField[]): Denied {
    // While the store is down, the client may well be within its quota.
    const kind = decided.source === "fallback" ? "temporary-reduced-capacity" : "quota-exceeded";
    return this.texts.denials.write(kind, decided.deniedBy, headers, decided);
  }

  private withoutStore(request: Request, error: unknown): Admission {
    if (failureOf(error) === undefined) throw error;
    if (!this.failOpen) return this.texts.denials.write("temporary-reduced-capacity", this.names, [], undefined);
    this.notices.give("HG_STORE_IGNORED", "a request could not be checked", error);
    return this.uncharged(request);
  }

  /** The texts of the limits in force, which `setLimit` may have changed. */
  private current(): Texts {
    const { policies } = this.texts;
    for (let i = 0; i < policies.length; i += 1) {
      if (policies[i].limit !== this.limiter.limitOf(this.names[i])) {
        this.texts = this.write();
        break;
      }
    }
    return this.texts;
  }

  private write(): Texts {
    const policies = this.names.map((rule) => new Policy(rule, this.limiter.limitOf(rule)));
    const writer = new HeaderWriter(this.forms, policies);
    return { policies, writer, denials: new DenialResponses(this.names, policies) };
  }
}

/** An admission without a charge to correct. */
function passed(headers: readonly HeaderField[], decided: Decision | Verdict | undefined, settle: Settle): Passed {
  return { allowed: true, headers, decided, settle, ended: nothing };
}

async function nothing(): Promise<void> {}

/** Whether a request failed before any response other than an error was sent. */
function failed({ status, aborted }: Ending): boolean {
  return status === undefined ? aborted : status >= 500;
}

function throwError(reason: unknown): never {
  throw errorOf(reason);
}

/** The check of one limit. */
function checkOf<Name extends string, Request>(
  { rule, identify, cost }: Ready<Name, Request>,
  request: Request,
): MaybePromise<Check<Name>> {
  const key = identify(request);
  const units = unitsOf(cost, request, key);
  if (!isPromise(key) && !isPromise(units)) return { rule, key, cost: units };
  return Promise.all([key, units]).then(([key, units]) => ({ rule, key, cost: units }));
}

/** The cost of a request. If it cannot be determined, a rejection of the key is still handled. */
function unitsOf<Request>(
  cost: (request: Request) => MaybePromise<number>,
  request: Request,
  key: MaybePromise<string>,
): MaybePromise<number> {
  try {
    return cost(request);
  } catch (error) {
    if (isPromise(key)) key.catch(() => {});
    throw error;
  }
}
