import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { type Requirements, readOptions } from "../../options.ts";
import { fingerprint, IDEMPOTENCY_WINDOW, idempotencyConflict, isRemembered } from "../idempotency-fingerprint.ts";
import { rejectSlots } from "../no-slots.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  limitOf,
  type Operation,
  type Rule,
  type Store,
} from "../store.ts";
import { transact } from "../transact.ts";
import { type CounterReply, type CounterRequest, receivedOperations } from "./counter-request.ts";
import { CounterTables, type DurableObjectStorage, rowName, type StoredRow } from "./counter-tables.ts";

export type { DurableObjectStorage } from "./counter-tables.ts";

/** Options of `DurableObjectStore`. */
export interface DurableObjectStoreOptions {
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const REQUIREMENTS: Requirements<DurableObjectStoreOptions> = { clock: requireClock };

/** Under what, and until when, answers are remembered. */
interface Remembering {
  readonly id: string;
  readonly request: string;
  readonly until: number;
  readonly forgetsDenial: ApplyOptions["forgetsDenial"];
}

/** How often expired rows are deleted, in microseconds. */
const PURGE_INTERVAL = 60_000_000;

/**
 * Keeps counters in the SQLite storage of a Durable Object. A request is decided and written without a pause in which
 * another one could run, and Cloudflare holds a response back until the writes before it are stored, so limits are exact
 * even if the object is evicted or moved.
 */
export class DurableObjectStore implements Store {
  readonly clock: Clock;
  readonly takesFirst = true;
  private readonly tables: CounterTables;
  /** The first time in the life of an object is its first write. */
  private purgeDue = Number.NEGATIVE_INFINITY;

  /** `storage` is `ctx.storage` of a Durable Object with the SQLite backend. */
  constructor(storage: DurableObjectStorage, options: DurableObjectStoreOptions = {}) {
    const { clock = new SystemClock() } = readOptions(options, REQUIREMENTS);
    // Objects with the older key-value backend have a `sql` that throws when it is used.
    if (typeof storage?.transactionSync !== "function") {
      const advice = "pass ctx.storage of a Durable Object that is listed in new_sqlite_classes";
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "storage",
        `must be the storage of a Durable Object, got ${shown(storage)}: ${advice}`,
      );
    }
    this.clock = clock;
    this.tables = new CounterTables(storage);
  }

  open(rule: Rule): void {
    rejectSlots(rule, "the Durable Object store", "use a Redis store for it");
  }

  /** Decides a request that a Worker sent with `durableObjects`. Errors are part of the reply, since a call loses their code. */
  reply({ action, operations: sent, options }: CounterRequest): CounterReply {
    try {
      const operations = receivedOperations(sent);
      for (const { rule } of operations) this.open(rule);
      return { answers: this.apply(action, operations, options) };
    } catch (error) {
      if (!(error instanceof HeadgateError)) throw error;
      const { code, field, problem } = error;
      return { error: { code, field, problem } };
    }
  }

  apply(action: Action, operations: readonly Operation[], options: ApplyOptions = {}): readonly Answer[] {
    const { idempotencyKey, rememberFor = IDEMPOTENCY_WINDOW, voidFrom = Number.POSITIVE_INFINITY, context } = options;
    const now = this.clock.now();
    if (now >= voidFrom) throw new StoreError("HG_STORE_TIMEOUT", "received the request after its deadline");
    if (idempotencyKey === undefined) return this.decide(action, operations, now);
    const id = JSON.stringify([operations[0]?.key, idempotencyKey]);
    const request = fingerprint(action, operations, context);
    const known = this.tables.answered(id, now);
    if (known === undefined) {
      const { forgetsDenial } = options;
      return this.decide(action, operations, now, { id, request, until: now + rememberFor, forgetsDenial });
    }
    if (known.request !== request) throw idempotencyConflict();
    return known.answers;
  }

  /** Deletes expired rows, which `apply` also does once a minute. Returns how many were deleted and how many are left. */
  purge(): { readonly deleted: number; readonly left: number } {
    return this.tables.purge(this.clock.now());
  }

  private decide(
    action: Action,
    operations: readonly Operation[],
    now: number,
    remembering?: Remembering,
  ): readonly Answer[] {
    const rows = new Map<string, StoredRow>();
    const locate = (operation: Operation): StoredRow => {
      const name = rowName(operation);
      let row = rows.get(name);
      if (row === undefined) {
        row = this.tables.row(name, limitOf(operation), now);
        rows.set(name, row);
      }
      row.use(limitOf(operation));
      return row;
    };
    const answers = transact(action, operations, now, locate);
    const changed = [...rows.values()].filter(({ isChanged }) => isChanged);
    const remembered = isRemembered(answers, remembering?.forgetsDenial) ? remembering : undefined;
    if (changed.length > 0 || remembered !== undefined)
      this.tables.write(changed, now, remembered && { ...remembered, answers });
    if (now >= this.purgeDue) {
      this.purgeDue = now + PURGE_INTERVAL;
      this.tables.purge(now);
    }
    return answers;
  }
}
