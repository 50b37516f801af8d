import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { endOnce, takeOnce, unlessEnded } from "./idempotent-steps.ts";
import type { JournalEntry } from "./journal.ts";
import { type JournalRecord, readRecord } from "./journal-record.ts";

/**
 * Releases a reservation of a process that died or was unresponsive for too long. To find out whether it was charged,
 * the charge is repeated under the same idempotency key: if it had not happened, it happens now and is released with
 * the rest. Returns whether nothing is left to do.
 */
export async function release(store: Store, { id, text }: JournalEntry, now: number): Promise<boolean> {
  const record = readRecord(text);
  if (record === undefined) return true;
  try {
    const take = takeOnce(id, record);
    if (now >= take.voidFrom) return true;
    const answers = await store.apply("take", record.operations, take);
    if (answers.every(({ allowed }) => allowed)) await giveBack(store, id, record, now);
    return true;
  } catch (error) {
    // Retry after store failures only: any other error would occur again.
    return failureOf(error) === undefined;
  }
}

async function giveBack(store: Store, id: string, { at, operations }: JournalRecord, now: number): Promise<void> {
  for (const [i, operation] of operations.entries()) {
    const end = endOnce(id, i, operation, at);
    if (!operation.reserved || now >= end.voidFrom) continue;
    await unlessEnded(() => store.apply("refund", [operation], end));
  }
}
