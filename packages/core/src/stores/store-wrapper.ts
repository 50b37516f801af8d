import type { Clock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Limit } from "../limits/limit.ts";
import type { ReservationJournal } from "../reservations/journal.ts";
import type { Notifications } from "./notifications.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule, Store, StoreNodes } from "./store.ts";

/** A store built on another store, to which it forwards everything that a subclass does not override. */
export class StoreWrapper implements Store {
  /** The clock of the inner store, if it has one. */
  readonly clock?: Clock;
  readonly notifications?: Notifications;
  readonly journal?: ReservationJournal;
  readonly takesFirst?: boolean;
  readonly nodes?: StoreNodes;
  protected readonly store: Store;

  constructor(store: Store) {
    if (typeof store?.apply !== "function") {
      throw new HeadgateError("HG_BAD_OPTION", "store", `must be a store such as a RedisStore, got ${shown(store)}`);
    }
    const { clock, notifications, journal, takesFirst, nodes } = store;
    this.store = store;
    if (clock !== undefined) this.clock = clock;
    if (notifications !== undefined) this.notifications = notifications;
    if (journal !== undefined) this.journal = journal;
    if (takesFirst !== undefined) this.takesFirst = takesFirst;
    if (nodes !== undefined) this.nodes = nodes;
  }

  open(rule: Rule, previous?: Limit): void {
    this.store.open?.(rule, previous);
  }

  /** Resolves when the inner store can be used. */
  async ready(): Promise<void> {
    await this.store.ready?.();
  }

  /** Closes the inner store. */
  async close(): Promise<void> {
    await this.store.close?.();
  }

  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    return this.store.apply(action, operations, options);
  }
}
