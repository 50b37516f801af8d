import { traitsOf } from "../../algorithms/lookup.ts";
import type { Clock } from "../../clock/clock.ts";
import { type Limit, withSlots } from "../../limits/limit.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { hasSlots } from "../../stores/slot-operations.ts";
import { type Action, type Answer, type ApplyOptions, askedCost, limitOf, type Operation } from "../../stores/store.ts";
import { type ActiveDenial, KnownKeys, type Report } from "./known-keys.ts";
import { leftOfShare, queueRoom, shareOf } from "./node-share.ts";
import type { Policy } from "./on-error.ts";

/** Answers instead of a failing store, by the policy and by what the store last reported. */
export class Fallback {
  private readonly nodes: number;
  private readonly clock: Clock;
  private readonly known: KnownKeys;
  /** Keyed by the limit itself: a rule that changes has another. */
  private readonly shares = new WeakMap<Limit, Limit>();
  private ownMemory: MemoryStore | undefined;
  /** The time that the shares use, if it is not the present. */
  private past: number | undefined;

  constructor(nodes: number, maxKeys: number, clock: Clock) {
    this.nodes = nodes;
    this.clock = clock;
    this.known = new KnownKeys(maxKeys, clock);
  }

  /** Number of keys about which something is known. */
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
    // The store may be written by anyone, so its answers are not trusted.
    if (!Array.isArray(answers)) return;
    const mayBeOld = options?.idempotencyKey !== undefined;
    for (let i = 0; i < operations.length; i += 1) {
      const answer: Answer | undefined = answers[i];
      // The answer of a fallback further inside does not come from the store.
      if (answer === undefined || answer.degraded) continue;
      // Denials learned while the reset was in flight end with it, too.
      if (action === "reset") this.known.forget(operations[i]);
      const isHeld = action === "take" ? answers.every(({ allowed }) => allowed) : answer.allowed;
      if (hasSlots(operations[i])) this.learnSlots(action, operations[i], isHeld);
      const age = mayBeOld && storeNow !== undefined ? Math.max(0, storeNow - answer.time) : 0;
      this.known.learn(operations[i], askedCost(action, operations[i]), aged(answer, age), at, mayBeOld);
    }
  }

  /** `patience`: microseconds until the store may be asked again. */
  answer(policy: Policy, action: Action, operations: readonly Operation[], patience: number): readonly Answer[] {
    const now = this.clock.now();
    const denials = operations.map((operation) =>
      // Slots that are held already stay in use: that the store had none left says nothing about them.
      action === "extend" ? undefined : this.known.denial(operation, askedCost(action, operation), now),
    );
    if (policy === "local") return this.local(action, operations, denials, patience);
    if (action === "release") this.memory.apply(action, operations);
    return operations.map((operation, i) => {
      const never = canFit(action, operation) ? undefined : Number.POSITIVE_INFINITY;
      const denial = denials[i];
      if (policy === "deny") {
        return fallbackAnswer(
          now,
          false,
          0,
          never ?? Math.max(patience, denial?.retryAfter ?? 0),
          denial?.resetAfter ?? patience,
        );
      }
      if (denial !== undefined)
        return fallbackAnswer(now, false, denial.remaining, never ?? denial.retryAfter, denial.resetAfter);
      // Under `allow`, nothing is counted, so the full quota is reported.
      return fallbackAnswer(now, never === undefined, limitOf(operation).burst, never ?? 0, 0);
    });
  }

  /** Resets local counts even while the store works, because it may fail again within the window. */
  forget(operations: readonly Operation[]): void {
    for (const operation of operations) this.known.forget(operation);
    this.ownMemory?.apply("reset", operations.map(this.shared));
  }

  private get memory(): MemoryStore {
    this.ownMemory ??= new MemoryStore({ clock: { now: () => this.past ?? this.clock.now(), sleep: neverSlept } });
    return this.ownMemory;
  }

  /** Follows which slots this process holds, whether or not they fit into its share, because they count in it. */
  private learnSlots(action: Action, operation: Operation, isHeld: boolean): void {
    if (action === "release") this.memory.apply("release", [operation]);
    if (!isHeld || (action !== "take" && action !== "extend")) return;
    const limit = withSlots(limitOf(operation), Number.MAX_SAFE_INTEGER);
    this.memory.apply("extend", [{ ...operation, limit }]);
  }

  private local(
    action: Action,
    operations: readonly Operation[],
    denials: readonly (ActiveDenial | undefined)[],
    patience: number,
  ): readonly Answer[] {
    const { memory } = this;
    for (const operation of operations) if (!hasSlots(operation)) this.startShare(operation, memory);
    const answers = this.decideLocally(action, operations.map(this.shared), denials);
    return operations.map((operation, i) => {
      const limit = limitOf(operation);
      const { remaining, retryAfter, resetAfter } = answers[i];
      const denial = denials[i];
      // A request that exceeds the share but not the limit can be admitted when the store is back.
      const wait = retryAfter === Number.POSITIVE_INFINITY && canFit(action, operation) ? patience : retryAfter;
      return {
        ...answers[i],
        ...FALLBACK,
        allowed: answers[i].allowed && denial === undefined,
        remaining: traitsOf(limit).queue ? queueRoom(limit, this.share(limit), remaining) : remaining,
        retryAfter: Math.max(wait, denial?.retryAfter ?? 0),
        resetAfter: Math.max(resetAfter, denial?.resetAfter ?? 0),
      };
    });
  }

  private decideLocally(
    action: Action,
    shared: readonly Operation[],
    denials: readonly (ActiveDenial | undefined)[],
  ): readonly Answer[] {
    const { memory } = this;
    if (denials.every((denial) => denial === undefined)) return memory.apply(action, shared);
    // A request denied by one of its limits is charged to none.
    if (action === "take") return memory.apply("peek", shared);
    if (action !== "takeFirst") return memory.apply(action, shared);
    // Alternatives that the store has denied are not charged.
    const open = shared.filter((_, i) => denials[i] === undefined);
    const taken = new Map(memory.apply("takeFirst", open).map((answer, i) => [open[i], answer]));
    return memory.apply("peek", shared).map((peeked, i) => taken.get(shared[i]) ?? peeked);
  }

  /** Starts the share of a key with no more than what the store last reported. */
  private startShare(operation: Operation, memory: MemoryStore): void {
    const report = this.known.takeReport(operation, this.clock.now());
    if (report === undefined) return;
    const left = this.leftOf(limitOf(operation), report);
    const shared = this.shared(operation);
    // As of when the store was asked, so that quota regained since then counts.
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

/** The store of the shares never sleeps. */
function neverSlept(): Promise<void> {
  return Promise.resolve();
}

function fallbackAnswer(
  time: number,
  allowed: boolean,
  remaining: number,
  retryAfter: number,
  resetAfter: number,
): Answer {
  return { ...FALLBACK, time, allowed, remaining, retryAfter, resetAfter };
}

/** The answer as of some microseconds later. */
function aged(answer: Answer, age: number): Answer {
  if (age === 0) return answer;
  const { retryAfter, resetAfter } = answer;
  return { ...answer, retryAfter: Math.max(0, retryAfter - age), resetAfter: Math.max(0, resetAfter - age) };
}

/** Whether the limit could ever admit it. */
function canFit(action: Action, operation: Operation): boolean {
  return askedCost(action, operation) <= limitOf(operation).burst;
}
