import { Outcome } from "../../algorithms/algorithm.ts";
import { algorithmOf, slotAlgorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { idempotencyConflict, isRemembered } from "../idempotency-fingerprint.ts";
import { type Answer, limitOf, type Operation } from "../store.ts";
import { transact } from "../transact.ts";
import { WrittenRow } from "../written-row.ts";
import type { Seen } from "./known-znodes.ts";
import type { RequestSpec } from "./pending-request.ts";
import { type Answered, answeredText, type Contents, rowText } from "./znode-contents.ts";
import { LeaseDraft } from "./znode-leases.ts";
import { tooLate, unusableZnode } from "./zookeeper-errors.ts";

/** ZooKeeper closes the connection on larger packets. */
const LONGEST_TEXT = 1_000_000;

/** The changes that requests make to their znodes, provided that nothing else changes those meanwhile. */
export class TransactionDraft {
  readonly seen: ReadonlyMap<string, Seen>;
  private readonly now: number;
  private readonly rows = new Map<string, DraftRow | LeaseDraft>();
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
      return known.request === memory?.request ? known.answers : idempotencyConflict();
    const places = new Map(operations.map((operation, i) => [operation, paths[i]]));
    const answers = transact(action, operations, this.now, (operation) => this.row(places, operation));
    if (memory !== undefined && isRemembered(answers, memory.forgetsDenial)) {
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
    const row = this.rows.get(path);
    if (row === undefined || !row.isChanged) return undefined;
    const change = row.written(voidFrom, this.now);
    if (change.text.length > LONGEST_TEXT) {
      throw unusableZnode(
        path,
        `would take ${change.text.length} bytes, more than the million that ZooKeeper accepts: use an algorithm with short rows`,
      );
    }
    return change;
  }

  private row(places: ReadonlyMap<Operation, string>, operation: Operation): DraftRow | LeaseDraft {
    const limit = limitOf(operation);
    const path = places.get(operation) ?? "";
    let row = this.rows.get(path);
    if (row === undefined) {
      row = rowOf(path, limit, this.seen.get(path)?.contents);
      this.rows.set(path, row);
    }
    row.use(limit);
    return row;
  }
}

function rowOf(
  path: string,
  limit: Limit,
  contents: Contents = { expires: Number.NEGATIVE_INFINITY },
): DraftRow | LeaseDraft {
  const { row, leases, expires } = contents;
  const slots = slotAlgorithmOf(limit);
  if (slots !== undefined && row === undefined) return new LeaseDraft(slots, { leases, expires });
  const isShort = (row?.length ?? Number.POSITIVE_INFINITY) < algorithmOf(limit).blank.length;
  if (isShort || leases !== undefined) throw unusableZnode(path, "does not contain what the store wrote");
  return new DraftRow(limit, contents);
}

export interface Change {
  readonly text: Buffer;
  readonly contents: Seen["contents"];
  /** The contents if the write is void. */
  readonly undone: Seen["contents"];
}

class DraftRow extends WrittenRow {
  private readonly expiredBefore: number;

  constructor(limit: Limit, { row, expires }: Contents) {
    super(limit, row);
    this.expiredBefore = expires;
  }

  written(voidFrom: number, now: number): Change {
    const { limit, cells, before } = this;
    const out = new Outcome();
    this.algorithm.evaluate(limit, cells, 0, now, 0, out);
    // Not before the row that counts if this write is void.
    const expires = Math.max(now, this.expiredBefore, this.blankFrom);
    const text = rowText(cells, before, expires, voidFrom, { limit, remaining: out.remaining, now });
    return { text, contents: { row: cells, expires }, undone: { row: before, expires } };
  }
}
