import type { Work } from "./cooperative-work.ts";

/** Number of items that can be serialized or parsed in about a millisecond. */
const ITEMS = 250;

/** Serializes items for another thread. A single text would be as fast to send, but must be parsed in one go. */
export function* toJsonParts(items: readonly unknown[]): Work<string[]> {
  const parts: string[] = [];
  for (let from = 0; from < items.length; from += ITEMS) {
    parts.push(JSON.stringify(items.slice(from, from + ITEMS)));
    yield;
  }
  return parts;
}

/** The parsed items, with the type that the sender used. */
export function* ofJsonParts<Item>(parts: readonly string[]): Work<Item[]> {
  const items: Item[] = [];
  for (const part of parts) {
    items.push(...(JSON.parse(part) as Item[]));
    yield;
  }
  return items;
}
