import { type Answer, type Clock, MemoryStore, type Operation } from "headgate";
import { flagColumn } from "./key-columns.ts";
import type { KeyIndex } from "./key-index.ts";
import type { RuleMode, RuleSetReport } from "./replay-report.ts";
import { RuleTally } from "./rule-tally.ts";
import { TimeSeries } from "./time-series.ts";
import type { AppliedRule, RequestRules } from "./traffic-request.ts";
import { WorstMinute } from "./worst-minute.ts";

/** Called for each decided request. `answers` are those of the enforced rules, the only ones that clients receive. */
export type OnReplayed = (time: number, key: string, allowed: boolean, answers: readonly Answer[]) => void;

const NONE: readonly Answer[] = [];
/** In seconds. */
const HOUR = 3_600;

/** Decides requests under one set of rules, in order of time, and counts the decisions. */
export class RuleSetReplay {
  readonly #index: KeyIndex;
  readonly #onReplayed: OnReplayed | undefined;
  readonly #clock = new ReplayClock();
  // Blank rows can be removed, because time never runs backwards here.
  readonly #store = new MemoryStore({ clock: this.#clock, maxKeys: Number.MAX_SAFE_INTEGER });
  /** By the names of the rules. */
  readonly #talliesOf: Readonly<Record<RuleMode, Map<string, RuleTally>>> = {
    enforce: new Map(),
    shadow: new Map(),
    candidate: new Map(),
  };
  /** In the order in which the rules were first applied. */
  readonly #tallies: RuleTally[] = [];
  readonly #deniedFlags = flagColumn();
  readonly #minutes = new WorstMinute();
  readonly #series = new TimeSeries();
  readonly #hours = new TimeSeries([HOUR]);
  #requests = 0;
  #denied = 0;
  #unlimited = 0;
  #deniedKeys = 0;

  constructor(index: KeyIndex, onReplayed?: OnReplayed) {
    this.#index = index;
    this.#onReplayed = onReplayed;
  }

  /** Whether the request is admitted. */
  decide(time: number, key: number, cost: number, { enforced, shadow }: RequestRules): boolean {
    this.#clock.time = time;
    const counted = countedAs(key);
    const answers = enforced.length === 0 ? NONE : this.#store.apply("take", operationsOf(enforced, counted, cost));
    let allowed = true;
    for (let i = 0; i < answers.length; i += 1) if (!answers[i].allowed) allowed = false;
    for (let i = 0; i < answers.length; i += 1) this.#count(enforced[i], key, answers[i], allowed, "enforce");
    for (let i = 0; i < shadow.length; i += 1) {
      const action = allowed ? "take" : "peek";
      const [answer] = this.#store.apply(action, [operationOf(shadow[i], counted, cost)]);
      this.#count(shadow[i], key, answer, allowed, shadow[i].isCandidate === true ? "candidate" : "shadow");
    }
    this.#requests += 1;
    if (answers.length === 0) this.#unlimited += 1;
    if (!allowed) this.#deny(key);
    this.#minutes.count(time, !allowed);
    this.#series.count(time, !allowed);
    this.#hours.count(time, !allowed);
    this.#onReplayed?.(time, this.#index.nameOf(key), allowed, answers);
    return allowed;
  }

  /** `end`: the time of the last request; `top`: how many keys to list. */
  report(end: number, top: number): RuleSetReport {
    return {
      requests: this.#requests,
      admitted: this.#requests - this.#denied,
      denied: this.#denied,
      unlimited: this.#unlimited,
      deniedKeys: this.#deniedKeys,
      worstMinute: this.#minutes.worst,
      series: this.#series.report(),
      hours: this.#hours.report(),
      rules: this.#tallies.map((tally) => tally.report(end, top)),
    };
  }

  #deny(key: number): void {
    this.#denied += 1;
    const flags = this.#deniedFlags.upTo(this.#index.size);
    if (flags[key] === 0) this.#deniedKeys += 1;
    flags[key] = 1;
  }

  #count({ rule, limit = rule.limit }: AppliedRule, key: number, answer: Answer, charged: boolean, mode: RuleMode) {
    const { [mode]: tallies } = this.#talliesOf;
    let tally = tallies.get(rule.name);
    if (tally === undefined) {
      tally = new RuleTally(rule.name, mode, this.#index);
      tallies.set(rule.name, tally);
      this.#tallies.push(tally);
    }
    tally.count(key, answer, limit, charged);
  }
}

/** The key under which the store counts: a short one for the number of a key, so that its name need not be decoded. */
function countedAs(key: number): string {
  return String.fromCharCode(key & 0xff, (key >>> 8) & 0xff, (key >>> 16) & 0xff, key >>> 24);
}

function operationsOf(rules: readonly AppliedRule[], key: string, cost: number): readonly Operation[] {
  return rules.length === 1 ? [operationOf(rules[0], key, cost)] : rules.map((rule) => operationOf(rule, key, cost));
}

function operationOf({ rule, limit = rule.limit }: AppliedRule, key: string, cost: number): Operation {
  return { rule, key, cost, limit };
}

/** Stands at the time of the present request. */
class ReplayClock implements Clock {
  time = 0;

  now(): number {
    return this.time;
  }

  async sleep(): Promise<void> {
    throw new Error("a replay does not wait");
  }
}
