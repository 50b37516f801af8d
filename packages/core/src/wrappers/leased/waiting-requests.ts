import type { Answer } from "../../stores/store.ts";

/** A request that this node cannot pay itself. */
export interface Waiter {
  readonly cost: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** Those who wait for the pool to be asked, in the order in which they came. */
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

  /** All of them, who then do not stand in line any more. */
  leave(): readonly Waiter[] {
    const { waiters } = this;
    this.waiters = [];
    return waiters;
  }

  /** Puts some back at the head of it. */
  putBack(waiters: readonly Waiter[]): void {
    if (waiters.length > 0) this.waiters = [...waiters, ...this.waiters];
  }

  /** As many of the first as so many units pay for; the rest is put back. */
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
