import type { Store } from "../stores/store.ts";
import { endOnce, takeOnce, unlessEnded } from "./idempotent-steps.ts";
import type { JournalRecord, ReservedOperation } from "./journal-record.ts";

/** A reservation of this process. */
export class Reservation implements JournalRecord {
  readonly id = crypto.randomUUID();
  readonly at: number;
  readonly operations: readonly ReservedOperation[];
  /** When it was last known that no other process had released it. */
  sureAt: number;
  private readonly store: Store;
  private readonly now: () => number;

  constructor(store: Store, operations: readonly ReservedOperation[], now: () => number) {
    this.store = store;
    this.operations = operations;
    this.now = now;
    this.at = now();
    this.sureAt = this.at;
  }

  /** Options for the charge, so that it happens once even if another process repeats it to release it. */
  get take(): { readonly idempotencyKey: string; readonly rememberFor: number } {
    const { idempotencyKey, rememberFor } = takeOnce(this.id, this);
    return { idempotencyKey, rememberFor };
  }

  /** Replaces the reserved cost of an operation by the actual one. Can be retried if the store fails. */
  async end(place: number, cost: number): Promise<void> {
    const { store, operations } = this;
    const operation = operations[place];
    const more = cost - operation.cost;
    const end = endOnce(this.id, place, operation, this.at, this.sureAt);
    if (this.now() >= end.voidFrom) {
      if (more > 0) await store.apply("penalize", [{ ...operation, cost: more }]);
      return;
    }
    const change = { ...operation, cost: Math.abs(more) };
    if (await unlessEnded(() => store.apply(more > 0 ? "penalize" : "refund", [change], end))) return;
    // It was released, so nothing is charged any more: charge the actual cost again.
    const again = { ...end, idempotencyKey: `${end.idempotencyKey}:late` };
    if (cost > 0) await store.apply("penalize", [{ ...operation, cost }], again);
  }
}
