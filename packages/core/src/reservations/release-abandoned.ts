import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { endOnce, takeOnce, unlessEnded } from "./idempotent-steps.ts";
import type { JournalEntry } from "./journal.ts";
import { type JournalRecord, readRecord } from "./journal-record.ts";

/**
 * Gives back what a process held that is dead, or was away for too long. Whether it had taken anything is found out
 * by asking for the same again: it is charged now if it was not then, and released with the rest. Answers whether
 * nothing is left to do.
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
    // A store that fails is asked again; what it calls a mistake would be one again.
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
