import type { Clock } from "../../clock/clock.ts";
import { StoreError } from "../../errors.ts";
import type { Answer, Operation, Rule, Store } from "../../stores/store.ts";
import type { Pool } from "./pool.ts";

/** How long the store remembers a grant or a return by its id, in microseconds: it can be repeated that long. */
const REMEMBERED = 30_000_000;
/** Units given back this shortly before the end, in microseconds, would arrive too late. */
const TOO_LATE = 10_000;

/** A call that was sent and not answered. It may have taken effect; repeated under its id, it does so only once. */
interface Doubt {
  readonly id: string;
  readonly amount: number;
  readonly sentAt: number;
}

export interface Granted {
  readonly amount: number;
  readonly answer: Answer;
  readonly sentAt: number;
  readonly deadline: number;
}

/**
 * Maximum number of calls without a reply to keep. What later ones may have been granted is lost with its window. The
 * first are kept, because they were in flight when the connection broke; later ones were not even sent.
 */
const MOST_DOUBTS = 8;
/** Delays before quota is given back again, in milliseconds: enough for a broken connection to recover. */
const RETRY_MS = [100, 300, 1_000, 3_000, 10_000];
/** Retries while closing. More of them would delay the end of the process if the store is gone. */
const CLOSING_RETRIES = 2;

/** Takes quota from the pool of one key and gives it back, each exactly once even if replies are lost. */
export class PoolClient {
  /** Grants without a reply that are not being resolved at the moment. */
  private readonly inDoubt: Doubt[] = [];
  private clearing = 0;
  private readonly store: Store;
  private readonly rule: Rule;
  private readonly pool: Pool;
  private readonly key: string;
  private readonly clock: Clock;
  private readonly newId: () => string;

  constructor(store: Store, rule: Rule, pool: Pool, key: string, clock: Clock, newId: () => string) {
    this.store = store;
    this.rule = rule;
    this.pool = pool;
    this.key = key;
    this.clock = clock;
    this.newId = newId;
  }

  /** Requests quota. If the store fails, throws a StoreError and remembers the grant as in doubt. */
  async take(amount: number): Promise<Granted> {
    const grant = { id: this.newId(), amount, sentAt: this.clock.now() };
    try {
      return await this.ask(grant);
    } catch (error) {
      if (error instanceof StoreError) this.doubt(grant);
      throw error;
    }
  }

  /** Number of grants in doubt. */
  get doubts(): number {
    return this.inDoubt.length + this.clearing;
  }

  /** Resolves the oldest grant in doubt; undefined if that is not possible yet, or never will be. */
  async clearDoubt(): Promise<Granted | undefined> {
    const grant = this.inDoubt.shift();
    if (grant === undefined || this.clock.now() >= grant.sentAt + REMEMBERED) return undefined;
    this.clearing += 1;
    try {
      return await this.ask(grant);
    } catch (error) {
      if (error instanceof StoreError) this.doubt(grant);
      return undefined;
    } finally {
      this.clearing -= 1;
    }
  }

  /**
   * Gives back quota that is valid until `deadline`. Returns whether that is certain; otherwise it is lost with the
   * lease.
   */
  async giveBack(amount: number, deadline: number, isClosing: boolean): Promise<boolean> {
    const { clock } = this.store;
    // Without the store's clock, a late return could go to the next window.
    if (clock === undefined) return false;
    const id = this.newId();
    const end = Math.min(deadline, this.clock.now() + REMEMBERED) - TOO_LATE;
    for (let attempt = 0; this.clock.now() < end; attempt += 1) {
      const voidFrom = clock.now() + end - this.clock.now();
      const options = { idempotencyKey: id, rememberFor: REMEMBERED, voidFrom, storeOnly: true };
      try {
        await this.store.apply("refund", [this.operation(amount)], options);
        return true;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
      if (attempt === (isClosing ? CLOSING_RETRIES : RETRY_MS.length)) return false;
      await this.clock.sleep(RETRY_MS[attempt]);
    }
    return false;
  }

  private async ask({ id, amount, sentAt }: Doubt): Promise<Granted> {
    const options = { idempotencyKey: id, rememberFor: REMEMBERED, storeOnly: true };
    const [answer] = await this.store.apply("take", [this.operation(amount)], options);
    return { amount, answer, sentAt, deadline: this.pool.deadline(sentAt, answer) };
  }

  private operation(cost: number): Operation {
    return { rule: this.rule, key: this.key, cost, limit: this.pool.limit };
  }

  private doubt(grant: Doubt): void {
    if (this.inDoubt.length < MOST_DOUBTS) this.inDoubt.push(grant);
  }
}
