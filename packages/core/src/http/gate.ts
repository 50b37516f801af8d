import { HeadgateError, shown } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { Check } from "../limiter/requests.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { failureOf } from "../stores/resilient/failure.ts";
import { requireClock } from "../time/clock.ts";
import { SystemClock } from "../time/system-clock.ts";
import { ClientAddress } from "./address/client-address.ts";
import type { Admission, Outcome, Passed, Refused } from "./admission.ts";
import { Charge } from "./charge.ts";
import { errorOf } from "./error-of.ts";
import { after, all, type Eventually, isPromise } from "./eventually.ts";
import type { Face } from "./face.ts";
import {
  type Asked,
  type GateLimit,
  requireCostOf,
  requireFunction,
  requireGateOptions,
  requireLimits,
} from "./gate-options.ts";
import { Policy } from "./headers/policy.ts";
import { type HeaderField, type HeaderForm, HeaderWriter, requireForms } from "./headers/response-headers.ts";
import { requireThresholds, stateHeader, type Told, UsageStates } from "./headers/usage-state.ts";
import { type Identify, requireBy } from "./identity.ts";
import { Notices, processNotices } from "./notices.ts";
import { type Ending, requireRefundOn } from "./refund-on.ts";
import { Refusals } from "./refusals.ts";

/** One limit of the gate, ready to ask. */
interface Ready<Name extends string, Request> {
  readonly rule: Name;
  readonly identify: Identify<Request>;
  readonly cost: (request: Request) => Eventually<number>;
  readonly reserves: boolean;
  readonly states: UsageStates | undefined;
}

/** What is written from the limits, made anew only when one of them changes. */
interface Texts {
  readonly policies: readonly Policy[];
  readonly writer: HeaderWriter;
  readonly refusals: Refusals;
}

/**
 * Decides about requests for every framework: who asks, what it costs, whether it passes, what the response
 * tells. An adapter shows it a request by a `Face` and carries out the `Admission` that it answers, which comes
 * without a promise wherever it can.
 *
 * A store that fails is never an error of the request. What `by`, `cost` and `skip` throw goes through to the
 * framework, as any mistake in a handler does.
 */
export class Gate<R extends Rules, Request> {
  /** Whether `ended` must be called when a response has ended. */
  readonly watches: boolean;
  private readonly limiter: Limiter<R>;
  private readonly limits: readonly Ready<RuleName<R>, Request>[];
  private readonly skip: ((request: Request) => Eventually<boolean>) | undefined;
  private readonly refundOn: ((ending: Ending) => boolean) | undefined;
  private readonly names: readonly RuleName<R>[];
  private readonly reserves: readonly boolean[];
  private readonly failOpen: boolean;
  private readonly notices: Notices;
  private readonly forms: readonly HeaderForm[];
  private readonly nowMs: () => number;
  private texts: Texts;

  /** `more` are the options that the framework reads itself. */
  constructor(
    limiter: Limiter<R> | MemoryLimiter<R>,
    asked: Asked<NoInfer<RuleName<R>>, Request>,
    face: Face<Request>,
    more: readonly string[] = [],
  ) {
    if (typeof limiter?.check !== "function") {
      throw new HeadgateError("HG_BAD_OPTION", "limiter", `must be made by rateLimiter, got ${shown(limiter)}`);
    }
    const options = requireGateOptions<RuleName<R>, Request, object>(asked, more);
    const { by = "ip", cost = 1, skip, warn, refundOn, onStoreFailure = "allow", onNotice } = options;
    const { clock = new SystemClock() } = options;
    requireClock(clock);
    requireFunction(skip, "skip");
    requireFunction(onNotice, "onNotice");
    if (onStoreFailure !== "allow" && onStoreFailure !== "deny") {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "onStoreFailure",
        `must be "allow" or "deny", got ${shown(onStoreFailure)}`,
      );
    }
    const notices = onNotice === undefined ? processNotices : new Notices(onNotice);
    const address = new ClientAddress(face, options, notices);
    const thresholds = warn === false ? undefined : requireThresholds(warn);
    const ready = (limit: GateLimit<RuleName<R>, Request>): Ready<RuleName<R>, Request> => ({
      rule: limit.rule,
      identify: requireBy(limit.by ?? by, face, address, notices, "by"),
      cost: requireCostOf(limit.reserve ?? limit.cost ?? cost, limit.reserve === undefined ? "cost" : "reserve"),
      reserves: limit.reserve !== undefined,
      states: thresholds && new UsageStates(thresholds),
    });
    this.limiter = limiter;
    this.notices = notices;
    this.limits = requireLimits(options.rules).map(ready);
    this.skip = skip;
    this.refundOn = refundOn === undefined ? undefined : requireRefundOn(refundOn);
    this.names = this.limits.map(({ rule }) => rule);
    this.reserves = this.limits.map(({ reserves }) => reserves);
    this.watches = this.refundOn !== undefined || this.reserves.includes(true);
    this.failOpen = onStoreFailure === "allow";
    this.forms = requireForms(options.headers);
    this.nowMs = () => clock.now() / 1000;
    this.texts = this.write();
  }

  /** Whether a request may go on. Charged if it may. What it throws, or rejects with, is always an error. */
  admit(request: Request): Eventually<Admission> {
    try {
      const admission = this.decideUnlessSkipped(request);
      return isPromise(admission) ? admission.then(undefined, throwError) : admission;
    } catch (reason) {
      return throwError(reason);
    }
  }

  private decideUnlessSkipped(request: Request): Eventually<Admission> {
    if (this.skip === undefined) return this.decide(request);
    return after(this.skip(request), (skipped) => (skipped ? this.unlimited() : this.decide(request)));
  }

  private decide(request: Request): Eventually<Admission> {
    return after(this.checksOf(request), (checks) => this.ask(checks));
  }

  private checksOf(request: Request): Eventually<readonly Check<RuleName<R>>[]> {
    return all(this.limits.map((limit) => checkOf(limit, request)));
  }

  private ask(checks: readonly Check<RuleName<R>>[]): Eventually<Admission> {
    const { limiter } = this;
    if (isSync(limiter)) return this.answer(checks, takeSync(limiter, checks));
    return take(limiter, checks).then(
      (outcome) => this.answer(checks, outcome),
      (error: unknown) => this.withoutStore(error),
    );
  }

  private answer(checks: readonly Check<RuleName<R>>[], outcome: Outcome): Admission {
    const { policies, writer } = this.current();
    const headers = writer.write(outcome);
    const state = this.stateOf(checks, outcome, policies);
    if (state !== undefined) headers.push(state);
    return outcome.allowed ? this.passed(checks, outcome, headers) : this.refused(outcome, headers);
  }

  private passed(checks: readonly Check<RuleName<R>>[], decided: Outcome, headers: readonly HeaderField[]): Passed {
    if (!this.watches) return { allowed: true, headers, decided, settle: nothing, ended: nothing };
    const charge = new Charge(this.limiter, checks, this.reserves, this.notices);
    return {
      allowed: true,
      headers,
      decided,
      settle: (cost) => charge.settle(cost),
      ended: (ending) => this.ended(charge, ending),
    };
  }

  private async ended(charge: Charge<R>, ending: Ending): Promise<void> {
    try {
      await this.correct(charge, ending);
    } catch (error) {
      // The response is on its way: there is nobody left to tell.
      this.notices.give("HG_REFUND_LOST", "what to do at the end of a request could not be found out", error);
    }
  }

  private async correct(charge: Charge<R>, ending: Ending): Promise<void> {
    if (this.refundOn?.(ending)) return charge.refund();
    const { status = 0, aborted } = ending;
    // A request that failed before anybody knew its cost has none; one that went well is held to the estimate.
    if (charge.open && (aborted || status >= 500)) return charge.release();
  }

  private refused(decided: Outcome, headers: HeaderField[]): Refused {
    // If our store is not there, the client may well be within its quota.
    const kind = decided.source === "fallback" ? "temporary-reduced-capacity" : "quota-exceeded";
    return this.texts.refusals.write(kind, decided.violated, headers, decided);
  }

  private withoutStore(error: unknown): Admission {
    if (failureOf(error) === undefined) throw error;
    if (!this.failOpen) return this.texts.refusals.write("temporary-reduced-capacity", this.names, [], undefined);
    this.notices.give("HG_STORE_IGNORED", "a request could not be checked", error);
    return this.unlimited();
  }

  private unlimited(): Passed {
    return { allowed: true, headers: [], decided: undefined, settle: nothing, ended: nothing };
  }

  /** The header of the limits that are near, or at, their end. */
  private stateOf(
    checks: readonly Check<RuleName<R>>[],
    outcome: Outcome,
    policies: readonly Policy[],
  ): HeaderField | undefined {
    let told: Told[] | undefined;
    for (let i = 0; i < policies.length; i += 1) {
      const decision = "decisions" in outcome ? outcome.decisions[i] : outcome;
      const state = this.limits[i].states?.after(checks[i].key, decision, policies[i].limit.burst, this.nowMs);
      if (state === undefined || state === "normal") continue;
      told ??= [];
      told.push({ policy: policies[i], state });
    }
    return told && stateHeader(told);
  }

  /** The texts of the limits in force: `setLimit` may have changed one. */
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
    const writer = new HeaderWriter(this.forms, policies, this.nowMs);
    return { policies, writer, refusals: new Refusals(this.names, policies) };
  }
}

async function nothing(): Promise<void> {}

function throwError(reason: unknown): never {
  throw errorOf(reason);
}

/** What one limit is asked. */
function checkOf<Name extends string, Request>(
  { rule, identify, cost }: Ready<Name, Request>,
  request: Request,
): Eventually<Check<Name>> {
  const key = identify(request);
  const units = cost(request);
  if (!isPromise(key) && !isPromise(units)) return { rule, key, cost: units };
  return Promise.all([key, units]).then(([key, units]) => ({ rule, key, cost: units }));
}

function isSync<R extends Rules>(limiter: Limiter<R>): limiter is MemoryLimiter<R> {
  return "checkSync" in limiter;
}

function takeSync<R extends Rules>(limiter: MemoryLimiter<R>, checks: readonly Check<RuleName<R>>[]): Outcome {
  if (checks.length > 1) return limiter.checkAllSync(checks);
  const { rule, key, cost = 1 } = checks[0];
  return cost === 1 ? limiter.checkSync(rule, key) : limiter.checkSync(rule, key, { cost });
}

function take<R extends Rules>(limiter: Limiter<R>, checks: readonly Check<RuleName<R>>[]): Promise<Outcome> {
  if (checks.length > 1) return limiter.checkAll(checks);
  const { rule, key, cost = 1 } = checks[0];
  return limiter.check(rule, key, { cost });
}
