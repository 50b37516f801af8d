import type { Answer } from "../../stores/store.ts";

/** A request that the lease cannot cover. */
export interface Waiter {
  readonly cost: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** Requests that wait for the pool, in order of arrival. */
export class WaitingRequests {
  private waiters: Waiter[] = [];

  get isEmpty(): boolean {
    return this.waiters.length === 0;
  }

  wait(cost: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ cost, resolve, reject });
    });
  }

  /** Removes and returns all of them. */
  leave(): readonly Waiter[] {
    const { waiters } = this;
    this.waiters = [];
    return waiters;
  }

  /** Puts requests back at the front. */
  putBack(waiters: readonly Waiter[]): void {
    if (waiters.length > 0) this.waiters = [...waiters, ...this.waiters];
  }

  /** Returns as many of the first requests as `units` cover, and puts the others back. */
  firstOf(waiters: readonly Waiter[], units: number): readonly Waiter[] {
    let count = 0;
    let cost = 0;
    while (count < waiters.length && cost + waiters[count].cost <= units) {
      cost += waiters[count].cost;
      count += 1;
    }
    this.putBack(waiters.slice(count));
    return waiters.slice(0, count);
  }
}

export function costOf(waiters: readonly Waiter[]): number {
  return waiters.reduce((total, { cost }) => total + cost, 0);
}
