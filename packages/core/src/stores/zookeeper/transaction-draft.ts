import { Outcome } from "../../algorithms/algorithm.ts";
import { algorithmOf } from "../../algorithms/lookup.ts";
import { HeadgateError } from "../../errors.ts";
import type { Limit } from "../../limits/limit.ts";
import { type Answer, limitOf, type Operation } from "../store.ts";
import { type Row, transact } from "../transact.ts";
import type { Seen } from "./known-znodes.ts";
import type { RequestSpec } from "./pending-request.ts";
import { type Answered, answeredText, type Contents, rowText } from "./znode-contents.ts";
import { tooLate, unusableZnode } from "./zookeeper-errors.ts";

/** ZooKeeper closes the connection on larger packets. */
const LONGEST_TEXT = 1_000_000;

/** The changes that requests make to their znodes, provided that nothing else changes those meanwhile. */
export class TransactionDraft {
  readonly seen: ReadonlyMap<string, Seen>;
  private readonly now: number;
  private readonly rows = new Map<string, DraftRow>();
  private readonly answered = new Map<string, Answered>();

  constructor(seen: ReadonlyMap<string, Seen>, now: number) {
    this.seen = seen;
    this.now = now;
  }

  get isChanged(): boolean {
    return this.answered.size > 0 || [...this.rows.values()].some(({ isChanged }) => isChanged);
  }

  /** Decides one request after the previous ones. */
  decide(spec: RequestSpec): readonly Answer[] | Error {
    const { action, operations, paths, voidFrom, memory } = spec;
    if (this.now >= voidFrom) return tooLate();
    const known = memory && this.seen.get(memory.path)?.contents.answered;
    if (known !== undefined && this.now < known.until)
      return known.request === memory?.request ? known.answers : conflict();
    const places = new Map(operations.map((operation, i) => [operation, paths[i]]));
    const answers = transact(action, operations, this.now, (operation) => this.row(places, operation));
    if (memory !== undefined) {
      const { request, rememberFor } = memory;
      this.answered.set(memory.path, { request, answers, until: this.now + rememberFor });
    }
    return answers;
  }

  /** The new contents of a znode; undefined if it does not change. */
  change(path: string, voidFrom: number): Change | undefined {
    const answered = this.answered.get(path);
    if (answered !== undefined) {
      const contents = { answered, expires: answered.until };
      return { text: answeredText(answered, voidFrom), contents, undone: { expires: answered.until } };
    }
    return this.rows.get(path)?.change(path, voidFrom, this.now);
  }

  private row(places: ReadonlyMap<Operation, string>, operation: Operation): DraftRow {
    const limit = limitOf(operation);
    const path = places.get(operation) ?? "";
    let row = this.rows.get(path);
    if (row === undefined) {
      const contents = this.seen.get(path)?.contents;
      const isShort = (contents?.row?.length ?? Number.POSITIVE_INFINITY) < algorithmOf(limit).blank.length;
      if (isShort) throw unusableZnode(path, "does not contain what the store wrote");
      row = new DraftRow(limit, contents);
      this.rows.set(path, row);
    }
    row.use(limit);
    return row;
  }
}

export interface Change {
  readonly text: Buffer;
  readonly contents: Seen["contents"];
  /** The contents if the write is void. */
  readonly undone: Seen["contents"];
}

class DraftRow implements Row {
  algorithm;
  cells: Float64Array;
  readonly at = 0;
  known: boolean;
  readonly shared = false;
  readonly notBefore = Number.NEGATIVE_INFINITY;
  isChanged = false;
  private limit: Limit;
  private readonly before: Float64Array;
  private readonly expiredBefore: number;

  constructor(limit: Limit, { row, expires }: Contents = { expires: Number.NEGATIVE_INFINITY }) {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
    this.before = row ?? Float64Array.from(this.algorithm.blank);
    this.cells = this.before.slice();
    this.known = row !== undefined;
    this.expiredBefore = expires;
  }

  use(limit: Limit): void {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
  }

  charge(limit: Limit, cost: number, _now: number, out: Outcome): void {
    const { resize } = this.algorithm;
    const length = resize?.lengthToCharge(limit, this.cells, 0, out) ?? 0;
    if (length > 0) {
      const longer = new Float64Array(length);
      resize?.copy(this.cells, 0, longer, 0, length);
      this.cells = longer;
    }
    this.algorithm.charge(limit, this.cells, 0, cost, out);
    this.known = true;
    this.isChanged = true;
  }

  refund(limit: Limit, cost: number, now: number): void {
    this.algorithm.refund(limit, this.cells, 0, now, cost);
    this.isChanged = true;
  }

  drop(): void {
    this.cells = Float64Array.from(this.algorithm.blank);
    this.isChanged = true;
  }

  change(path: string, voidFrom: number, now: number): Change | undefined {
    if (!this.isChanged) return undefined;
    const { limit, cells, before } = this;
    const out = new Outcome();
    this.algorithm.evaluate(limit, cells, 0, now, 0, out);
    // Not before the row that counts if this write is void.
    const expires = Math.max(now, this.expiredBefore, this.algorithm.blankFrom(limit, cells, 0));
    const text = rowText(cells, before, expires, voidFrom, { limit, remaining: out.remaining, now });
    if (text.length > LONGEST_TEXT) {
      throw unusableZnode(
        path,
        `would take ${text.length} bytes, more than the million that ZooKeeper accepts: use an algorithm with short rows`,
      );
    }
    return { text, contents: { row: cells, expires }, undone: { row: before, expires } };
  }
}

function conflict(): HeadgateError {
  return new HeadgateError(
    "HG_IDEMPOTENCY_CONFLICT",
    "idempotencyKey",
    "was used for another request in the last five minutes: create a new one for each request",
  );
}
