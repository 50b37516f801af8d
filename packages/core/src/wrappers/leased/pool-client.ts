import type { Clock } from "../../clock/clock.ts";
import { StoreError } from "../../errors.ts";
import type { Answer, Operation, Rule, Store } from "../../stores/store.ts";
import type { Pool } from "./pool.ts";

/** How long the store remembers a grant or a return by its id, in microseconds: so long it can be asked again. */
const REMEMBERED = 30_000_000;
/** What is given back so shortly before the end is worth nothing any more when it arrives. */
const TOO_LATE = 10_000;

/** Something that was sent and not answered: it may have happened. Under its id it happens once. */
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
 * So many are kept: what a later one may have got is lost with its window. The first are kept, for when a connection
 * breaks they were under way; those that follow before there is another were not even sent.
 */
const MOST_DOUBTS = 8;
/** How long to wait before quota is given back once more, in milliseconds: a connection that broke is back by then. */
const RETRY_MS = [100, 300];

/** Takes quota out of the pool of one key and gives it back, each once, whatever becomes of the replies. */
export class PoolClient {
  /** Grants whose fate is not known yet, and that nobody asks about just now. */
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

  /** Asks for quota. Fails with a StoreError if the store does, and then keeps what may have been granted in doubt. */
  async take(amount: number): Promise<Granted> {
    const grant = { id: this.newId(), amount, sentAt: this.clock.now() };
    try {
      return await this.ask(grant);
    } catch (error) {
      if (error instanceof StoreError) this.doubt(grant);
      throw error;
    }
  }

  /** How many grants are in doubt. */
  get doubts(): number {
    return this.inDoubt.length + this.clearing;
  }

  /** Asks what became of the oldest grant in doubt: undefined if that still cannot be told, or never will. */
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

  /** Gives quota back that is good until `deadline`; whether that is certain. What is not is lost with the lease. */
  async giveBack(amount: number, deadline: number): Promise<boolean> {
    const { clock } = this.store;
    // Nothing tells a store without a clock when it is too late: the return might then go to the next window.
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
      if (attempt === RETRY_MS.length) return false;
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
