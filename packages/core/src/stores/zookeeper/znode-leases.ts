import type { Outcome, SlotAlgorithm } from "../../algorithms/algorithm.ts";
import { LeaseSet, type LeaseSnapshot } from "../../algorithms/concurrency/lease-set.ts";
import type { Limit } from "../../limits/limit.ts";
import type { SlotHolder } from "../store.ts";
import type { Row } from "../transact.ts";
import { jsonText } from "./znode-text.ts";

/** What a znode contains about slots, and when it becomes worthless. */
export interface LeaseContents {
  readonly leases: LeaseSnapshot | undefined;
  readonly expires: number;
}

/** The slots of a znode, as requests change them. */
export class LeaseDraft implements Row {
  known: boolean;
  readonly shared = false;
  readonly notBefore = Number.NEGATIVE_INFINITY;
  isChanged = false;
  private readonly algorithm: SlotAlgorithm;
  private readonly before: LeaseSnapshot | undefined;
  private readonly expiredBefore: number;
  private row: LeaseSet;
  private slots = 0;

  constructor(algorithm: SlotAlgorithm, { leases, expires }: LeaseContents) {
    this.algorithm = algorithm;
    this.before = leases;
    this.expiredBefore = expires;
    this.known = leases !== undefined;
    this.row = LeaseSet.from(leases);
  }

  use({ limit }: Limit): void {
    this.slots = limit;
  }

  evaluate(limit: Limit, cost: number, time: number, out: Outcome, holder?: SlotHolder): void {
    this.algorithm.evaluateSlots(limit, this.row, time, cost, holder, out);
  }

  charge(_limit: Limit, cost: number, _now: number, out: Outcome, holder: SlotHolder): void {
    this.algorithm.takeSlots(this.row, cost, holder, out);
    this.change();
  }

  extend(limit: Limit, cost: number, now: number, out: Outcome, holder: SlotHolder): void {
    this.algorithm.extendSlots(limit, this.row, now, cost, holder, out);
    if (out.allowed) this.change();
  }

  release(now: number, holder: SlotHolder): void {
    this.algorithm.releaseSlots(this.row, now, holder);
    this.change();
  }

  /** Slots are released, not refunded. */
  refund(): void {}

  drop(): void {
    this.row = new LeaseSet();
    this.change();
  }

  /** The text of the znode, what it means, and what it means if the write is void. */
  written(voidFrom: number, now: number): { text: Buffer; contents: LeaseContents; undone: LeaseContents } {
    const { row, before, slots } = this;
    const leases = row.snapshot();
    // Not before the leases that count if this write is void.
    const expires = Math.max(now, this.expiredBefore, row.blankFrom);
    const text = jsonText({
      limit: slots,
      in_use: row.inUse,
      at: new Date(now / 1_000).toISOString(),
      leases,
      expires_us: expires,
      ...(Number.isFinite(voidFrom) && { void_from_us: voidFrom, undo: before ?? null }),
    });
    return { text, contents: { leases, expires }, undone: { leases: before, expires } };
  }

  private change(): void {
    this.known = true;
    this.isChanged = true;
  }
}

/** Reads leases from the text of a znode; undefined if there are none, or they are not what the store wrote. */
export function leasesIn(value: unknown): LeaseSnapshot | undefined {
  if (typeof value !== "object" || value === null || !("latest" in value && "held" in value && "released" in value)) {
    return undefined;
  }
  const { latest, held, released } = value;
  if (latest !== null && typeof latest !== "number") return undefined;
  const isKnown = isList<[string, number, number]>(held, 3) && isList<[string, number]>(released, 2);
  return isKnown ? { latest, held, released } : undefined;
}

/** Whether a value is a list of a name and numbers each. */
function isList<Item>(value: unknown, length: Item extends { length: infer Length } ? Length : never): value is Item[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item: unknown) =>
        Array.isArray(item) &&
        item.length === length &&
        item.every((part, i) => typeof part === (i === 0 ? "string" : "number")),
    )
  );
}
