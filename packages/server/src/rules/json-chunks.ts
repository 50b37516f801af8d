import type { Work } from "./cooperative-work.ts";

/** So many items are turned into text, or back, in about a millisecond. */
const ITEMS = 250;

/** Items as texts that go to another thread. One text would be as quick to send, but must be read in one go. */
export function* toJsonParts(items: readonly unknown[]): Work<string[]> {
  const parts: string[] = [];
  for (let from = 0; from < items.length; from += ITEMS) {
    parts.push(JSON.stringify(items.slice(from, from + ITEMS)));
    yield;
  }
  return parts;
}

/** The items again, with the type that the sender knows. */
export function* ofJsonParts<Item>(parts: readonly string[]): Work<Item[]> {
  const items: Item[] = [];
  for (const part of parts) {
    items.push(...(JSON.parse(part) as Item[]));
    yield;
  }
  return items;
}
