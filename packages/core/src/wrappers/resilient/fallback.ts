import type { Clock } from "../../clock/clock.ts";
import type { Limit } from "../../limits/limit.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { type Action, type Answer, type ApplyOptions, limitOf, type Operation } from "../../stores/store.ts";
import { KnownKeys, type Report, type StandingDenial } from "./known-keys.ts";
import { leftOfShare, queueRoom, shareOf } from "./node-share.ts";
import type { Policy } from "./on-error.ts";

/** Answers in the place of a store that fails, by the policy and by what the store last said. */
export class Fallback {
  private readonly nodes: number;
  private readonly clock: Clock;
  private readonly known: KnownKeys;
  /** By the limit itself: a rule that changes has another. */
  private readonly shares = new WeakMap<Limit, Limit>();
  private memory: MemoryStore | undefined;
  /** The time that the shares go by, if it is not now. */
  private past: number | undefined;

  constructor(nodes: number, maxKeys: number, clock: Clock) {
    this.nodes = nodes;
    this.clock = clock;
    this.known = new KnownKeys(maxKeys, clock);
  }

  /** About how many keys something is known. */
  get knownKeys(): number {
    return this.known.size;
  }

  /**
   * Remembers what the store answered to a call that was sent at `at`. `storeNow` is the time by the store's clock, if
   * it has one: an answer that repeats an old one counts from when it was given.
   */
  learn(
    action: Action,
    operations: readonly Operation[],
    answers: readonly Answer[],
    at: number,
    options: ApplyOptions | undefined,
    storeNow: number | undefined,
  ): void {
    // Anybody can write a store.
    if (!Array.isArray(answers)) return;
    const mayBeOld = options?.idempotencyKey !== undefined;
    for (let i = 0; i < operations.length; i += 1) {
      const answer: Answer | undefined = answers[i];
      // What stands in for a store further inside is not the store's word.
      if (answer === undefined || answer.degraded) continue;
      // Denials that were learned while the reset was under way end with it, too.
      if (action === "reset") this.known.forget(operations[i]);
      const age = mayBeOld && storeNow !== undefined ? Math.max(0, storeNow - answer.time) : 0;
      this.known.learn(operations[i], askedCost(action, operations[i]), aged(answer, age), at, mayBeOld);
    }
  }

  /** `patience`: in how many microseconds the store may be asked again. */
  answer(policy: Policy, action: Action, operations: readonly Operation[], patience: number): readonly Answer[] {
    const now = this.clock.now();
    const denials = operations.map((operation) => this.known.denial(operation, askedCost(action, operation), now));
    if (policy === "local") return this.local(action, operations, denials, patience);
    return operations.map((operation, i) => {
      const never = canFit(action, operation) ? undefined : Number.POSITIVE_INFINITY;
      const denial = denials[i];
      if (policy === "deny") {
        return told(
          now,
          false,
          0,
          never ?? Math.max(patience, denial?.retryAfter ?? 0),
          denial?.resetAfter ?? patience,
        );
      }
      if (denial !== undefined)
        return told(now, false, denial.remaining, never ?? denial.retryAfter, denial.resetAfter);
      // Where all pass, nothing is counted, and so nothing is known to be used.
      return told(now, never === undefined, limitOf(operation).burst, never ?? 0, 0);
    });
  }

  /** Resets what was counted here: also while the store is well, for it may fail again within the window. */
  forget(operations: readonly Operation[]): void {
    for (const operation of operations) this.known.forget(operation);
    this.memory?.apply("reset", operations.map(this.shared));
  }

  private local(
    action: Action,
    operations: readonly Operation[],
    denials: readonly (StandingDenial | undefined)[],
    patience: number,
  ): readonly Answer[] {
    this.memory ??= new MemoryStore({ clock: { now: () => this.past ?? this.clock.now(), sleep: neverSlept } });
    for (const operation of operations) this.startShare(operation, this.memory);
    // A request that one of its limits denies is charged to none.
    const done = action === "take" && denials.some((denial) => denial !== undefined) ? "peek" : action;
    const answers = this.memory.apply(done, operations.map(this.shared));
    return operations.map((operation, i) => {
      const limit = limitOf(operation);
      const { remaining, retryAfter, resetAfter } = answers[i];
      const denial = denials[i];
      // More than the share, but not than the limit, passes when the store is back.
      const wait = retryAfter === Number.POSITIVE_INFINITY && canFit(action, operation) ? patience : retryAfter;
      return {
        ...answers[i],
        ...FALLBACK,
        allowed: answers[i].allowed && denial === undefined,
        remaining: limit.algorithm === "leaky_bucket" ? queueRoom(limit, this.share(limit), remaining) : remaining,
        retryAfter: Math.max(wait, denial?.retryAfter ?? 0),
        resetAfter: Math.max(resetAfter, denial?.resetAfter ?? 0),
      };
    });
  }

  /** A key that the store has reported on has no more left of its share than of its quota then. */
  private startShare(operation: Operation, memory: MemoryStore): void {
    const report = this.known.takeReport(operation, this.clock.now());
    if (report === undefined) return;
    const left = this.leftOf(limitOf(operation), report);
    const shared = this.shared(operation);
    // As of when the store was asked: what has flowed back since is not used any more.
    this.past = report.at;
    const [{ remaining }] = memory.apply("peek", [{ ...shared, cost: 0 }]);
    if (remaining > left) memory.apply("penalize", [{ ...shared, cost: remaining - left }]);
    this.past = undefined;
  }

  private leftOf(limit: Limit, { remaining, isShare }: Report): number {
    return isShare ? remaining : leftOfShare(limit, remaining, this.nodes);
  }

  private readonly shared = (operation: Operation): Operation => {
    return { ...operation, limit: this.share(limitOf(operation)) };
  };

  private share(limit: Limit): Limit {
    const known = this.shares.get(limit);
    if (known !== undefined) return known;
    const share = shareOf(limit, this.nodes);
    this.shares.set(limit, share);
    return share;
  }
}

const FALLBACK = { source: "fallback", degraded: true } as const;

/** The store of the shares waits for nothing. */
function neverSlept(): Promise<void> {
  return Promise.resolve();
}

function told(time: number, allowed: boolean, remaining: number, retryAfter: number, resetAfter: number): Answer {
  return { ...FALLBACK, time, allowed, remaining, retryAfter, resetAfter };
}

/** An answer as it would be told some microseconds later. */
function aged(answer: Answer, age: number): Answer {
  if (age === 0) return answer;
  const { retryAfter, resetAfter } = answer;
  return { ...answer, retryAfter: Math.max(0, retryAfter - age), resetAfter: Math.max(0, resetAfter - age) };
}

/** What an answer is about: corrections are answered as a peek of cost 1 is. */
function askedCost(action: Action, { cost }: Operation): number {
  return action === "take" || action === "peek" ? cost : 1;
}

/** Whether the limit could ever let it pass. */
function canFit(action: Action, operation: Operation): boolean {
  return askedCost(action, operation) <= limitOf(operation).burst;
}
