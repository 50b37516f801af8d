import type { Work } from "./cooperative-work.ts";

/** Number of items that can be sorted or merged in about a millisecond. */
const ITEMS = 1_000;

/** Sorts rules by id. */
export function* sortedById<Item extends { readonly rule_id: string }>(items: readonly Item[]): Work<readonly Item[]> {
  // The database returns them in this order.
  if (yield* isSorted(items)) return items;
  let runs: Item[][] = [];
  for (let from = 0; from < items.length; from += ITEMS) {
    runs.push(items.slice(from, from + ITEMS).sort((a, b) => (a.rule_id < b.rule_id ? -1 : 1)));
    yield;
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* mergeOf(runs[i], runs[i + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* isSorted(items: readonly { readonly rule_id: string }[]): Work<boolean> {
  for (let i = 1; i < items.length; i += 1) {
    if (items[i - 1].rule_id > items[i].rule_id) return false;
    if (i % ITEMS === 0) yield;
  }
  return true;
}

function* mergeOf<Item extends { readonly rule_id: string }>(a: readonly Item[], b: readonly Item[]): Work<Item[]> {
  const merged: Item[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const takesA = j === b.length || (i < a.length && a[i].rule_id <= b[j].rule_id);
    merged.push(takesA ? a[i++] : b[j++]);
    if (merged.length % ITEMS === 0) yield;
  }
  return merged;
}

/** Number of items, sorted by id, up to and including an id. */
export function countUpTo(items: readonly { readonly rule_id: string }[], id: string): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (items[middle].rule_id <= id) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function isAmong(items: readonly { readonly rule_id: string }[], id: string): boolean {
  return items[countUpTo(items, id) - 1]?.rule_id === id;
}
