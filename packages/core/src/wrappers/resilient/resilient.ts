import type { Clock } from "../../clock/clock.ts";
import { StoreError, shown } from "../../errors.ts";
import { Deadlines, type Timed } from "../../stores/deadlines.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../../stores/store.ts";
import { StoreWrapper } from "../../stores/store-wrapper.ts";
import { Breaker } from "./breaker.ts";
import { Breakers } from "./breakers.ts";
import { EventLoopTurns } from "./event-loop-turns.ts";
import { Fallback } from "./fallback.ts";
import type { Policies } from "./on-error.ts";
import { type ResilientOptions, readResilientOptions } from "./resilient-options.ts";
import { Counters, type ResilientStats } from "./resilient-stats.ts";
import { type Failure, failureOf } from "./store-failure.ts";

/**
 * Wraps a store so that every call is answered within a deadline. When the store fails, the policy of each rule
 * decides.
 */
export function resilient(store: Store, options: ResilientOptions = {}): ResilientStore {
  return new ResilientStore(store, options);
}

type Answers = readonly Answer[];

/** A store made by `resilient`. Each call is answered in time, by the store or by the fallback. */
export class ResilientStore extends StoreWrapper {
  /** Live statistics of this process. */
  readonly stats: ResilientStats;
  private readonly time: Clock;
  /** Maximum duration of a call, in microseconds. */
  private readonly deadline: number;
  private readonly deadlines: Deadlines;
  /** Of calls whose callers wait less than that, by how many milliseconds they wait. */
  private readonly shorterDeadlines = new Map<number, Deadlines>();
  /** Shared: creating an error for each of ten thousand calls would take longer than the deadline. */
  private readonly timeout: StoreError;
  private readonly breakers: Breakers;
  private readonly policies: Policies;
  private readonly standIn: Fallback;
  private readonly turns = new EventLoopTurns();
  private readonly counters: Counters;
  private readonly onFailure: (failure: Failure, cause: unknown) => void;
  private lastFailure: unknown;
  private voidOptions: { readonly voidFrom: number } = { voidFrom: 0 };

  constructor(store: Store, options: ResilientOptions) {
    super(store);
    const settings = readResilientOptions(options);
    const { deadline, retry, failures, policies, onDegraded, onFailure, clock } = settings;
    this.time = clock;
    this.deadline = deadline;
    this.deadlines = new Deadlines(clock, deadline);
    this.timeout = new StoreError("HG_STORE_TIMEOUT", `did not answer within ${deadline / 1000} ms`);
    // By the time of the next probe, the previous one has ended.
    this.breakers = new Breakers(store.nodes, (node) => {
      const affected = node === undefined ? {} : { node };
      return new Breaker(failures, Math.max(retry, deadline), clock, (change) =>
        notify(onDegraded, { ...change, ...affected }),
      );
    });
    this.policies = policies;
    this.standIn = new Fallback(settings.nodes, settings.maxKeys, clock);
    this.onFailure = onFailure;
    this.counters = new Counters(this.breakers, this.standIn);
    this.stats = this.counters;
  }

  override apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Answers | Promise<Answers> {
    if (action === "extend") {
      const groups = this.breakers.groups(operations);
      if (groups.length > 1) return this.applyEach(action, operations, groups, options);
    }
    const now = this.time.now();
    this.counters.calls += 1;
    if (action === "reset") this.standIn.forget(operations);
    const breaker = this.breakers.of(operations);
    const fallBack = (): Answers => this.fallBack(action, operations, options, breaker);
    if (!breaker.admits(now)) return this.turns.overdue(now)?.then(fallBack) ?? fallBack();
    const { era } = breaker;
    let answers: Answers | Promise<Answers>;
    try {
      answers = this.store.apply(action, operations, this.voidAtDeadline(options));
    } catch (error) {
      this.countFailure(error, breaker, era);
      return fallBack();
    }
    if ("then" in answers) {
      const learn = (answers: Answers): void =>
        this.standIn.learn(action, operations, answers, now, options, this.clock?.now());
      const within = wholeMs(options?.answerWithin ?? Number.POSITIVE_INFINITY);
      return within < this.deadline
        ? this.inCallersTime(answers, now, within, breaker, era, learn, fallBack)
        : this.inTime(answers, now + this.deadline, breaker, era, learn, fallBack);
    }
    this.standIn.learn(action, operations, answers, now, options, this.clock?.now());
    breaker.succeeded(era);
    return answers;
  }

  /** Operations that are independent of each other: a server that is down does not affect those of the others. */
  private async applyEach(
    action: Action,
    operations: readonly Operation[],
    groups: readonly (readonly number[])[],
    options: ApplyOptions | undefined,
  ): Promise<Answers> {
    const answers = new Array<Answer>(operations.length);
    await Promise.all(
      groups.map(async (group) => {
        const some = await this.apply(
          action,
          group.map((i) => operations[i]),
          options,
        );
        for (const [at, i] of group.entries()) answers[i] = some[at];
      }),
    );
    return answers;
  }

  /** Closes the inner store. Pending calls are answered by the fallback. */
  override async close(): Promise<void> {
    try {
      await super.close();
    } finally {
      for (const deadlines of this.shorterDeadlines.values()) deadlines.end();
      this.deadlines.end();
    }
  }

  /**
   * Like `inTime` for a caller that waits less than the store may take. The store is still expected to answer within
   * its own deadline: only that counts as a failure.
   */
  private inCallersTime(
    answers: Promise<Answers>,
    now: number,
    within: number,
    breaker: Breaker,
    era: number,
    learn: (answers: Answers) => void,
    fallBack: () => Answers,
  ): Promise<Answers> {
    const { deadlines, counters } = this;
    const shorter = this.deadlinesOf(within);
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      const answerAnyway = (): void => {
        isAnswered = true;
        try {
          resolve(fallBack());
        } catch (mistake) {
          reject(mistake);
        }
      };
      const fail = (error: unknown): void => {
        try {
          this.countFailure(error, breaker, era);
          if (!isAnswered) answerAnyway();
        } catch (mistake) {
          reject(mistake);
        }
      };
      const expire = (): void => {
        counters.callerDeadlines += 1;
        answerAnyway();
      };
      const caller: Timed = { due: now + within, before: undefined, after: undefined, expire };
      const store: Timed = {
        due: now + this.deadline,
        before: undefined,
        after: undefined,
        expire: () => fail(this.timeout),
      };
      shorter.add(caller);
      deadlines.add(store);
      answers.then(
        (value) => {
          breaker.heard += 1;
          learn(value);
          shorter.delete(caller);
          if (!deadlines.delete(store)) return;
          breaker.succeeded(era);
          resolve(value);
        },
        (error: unknown) => {
          shorter.delete(caller);
          if (!deadlines.delete(store)) return;
          // The store has answered that the request came too late, as it should.
          if (isAnswered && failureOf(error) === "HG_STORE_TIMEOUT") breaker.heard += 1;
          else fail(error);
        },
      );
    });
  }

  private deadlinesOf(within: number): Deadlines {
    let deadlines = this.shorterDeadlines.get(within);
    if (deadlines === undefined) {
      deadlines = new Deadlines(this.time, within);
      this.shorterDeadlines.set(within, deadlines);
    }
    return deadlines;
  }

  /** Returns the store's answers, or those of the fallback at the deadline. Late answers are only learned from. */
  private inTime(
    answers: Promise<Answers>,
    due: number,
    breaker: Breaker,
    era: number,
    learn: (answers: Answers) => void,
    fallBack: () => Answers,
  ): Promise<Answers> {
    const heardBefore = breaker.heard;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        try {
          this.countFailure(error, breaker, era);
          const answers = fallBack();
          if (breaker.heard > heardBefore) this.counters.fallbacksWhileAnswering += 1;
          resolve(answers);
        } catch (mistake) {
          reject(mistake);
        }
      };
      const call: Timed = { due, before: undefined, after: undefined, expire: () => fail(this.timeout) };
      this.deadlines.add(call);
      answers.then(
        (value) => {
          breaker.heard += 1;
          learn(value);
          if (!this.deadlines.delete(call)) return;
          breaker.succeeded(era);
          resolve(value);
        },
        (error: unknown) => {
          if (this.deadlines.delete(call)) fail(error);
        },
      );
    });
  }

  /**
   * A call that the fallback has answered must not be charged when a frozen server resumes. Whole milliseconds, rounded
   * up, so that calls sent together share one value.
   */
  private voidAtDeadline(options: ApplyOptions | undefined): ApplyOptions | undefined {
    if (this.clock === undefined) return options;
    const within = Math.min(this.deadline, wholeMs(options?.answerWithin ?? this.deadline));
    const voidFrom = Math.ceil((this.clock.now() + within) / 1000) * 1000;
    if (options !== undefined) {
      return { ...options, voidFrom: Math.min(voidFrom, options.voidFrom ?? Number.POSITIVE_INFINITY) };
    }
    if (this.voidOptions.voidFrom !== voidFrom) this.voidOptions = { voidFrom };
    return this.voidOptions;
  }

  /** Rethrows mistakes of the caller: they say nothing about the store, and a fallback cannot fix them. */
  private countFailure(error: unknown, breaker: Breaker, era: number): void {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    this.counters.failures[failure] += 1;
    notify((code: Failure) => this.onFailure(code, error), failure);
    // An error about one key says nothing about the store, and a call with many requests counts as one failure.
    const scope = error instanceof StoreError ? error.scope : "request";
    if (scope === "key" || (scope === "call" && error === this.lastFailure)) return;
    this.lastFailure = error;
    breaker.failed(era, error);
  }

  private fallBack(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
    breaker: Breaker,
  ): Answers {
    const { voidFrom = Number.POSITIVE_INFINITY } = options ?? {};
    // The caller has already gone on without an answer, so nothing may be charged here either.
    if (this.clock !== undefined && this.clock.now() >= voidFrom) {
      throw new StoreError("HG_STORE_TIMEOUT", "did not answer before the request was void");
    }
    if (options?.storeOnly)
      throw new StoreError("HG_STORE_UNREACHABLE", "failed, and this call does not allow a fallback");
    const policy = this.policies.strictest(operations);
    this.counters.fellBack(policy, operations);
    return this.standIn.answer(policy, action, operations, breaker.patience);
  }
}

/** Whole milliseconds, at least one: there are not many of them, and calls with the same share a timer. */
function wholeMs(us: number): number {
  return Math.max(1, Math.floor(us / 1000)) * 1000;
}

/** A listener that throws must not stop the traffic. */
function notify<News>(listener: (news: News) => void, news: News): void {
  try {
    listener(news);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : shown(error));
  }
}
