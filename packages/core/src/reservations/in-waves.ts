/** How many tasks run at the same time: about as many as one call to Redis carries. */
const WAVE = 64;

/**
 * Runs a task for each item, a limited number of them at a time, and the first one alone, in case all would fail. Stops
 * when a task returns false, and returns whether all have returned true.
 */
export async function inWaves<Item>(items: readonly Item[], task: (item: Item) => Promise<boolean>): Promise<boolean> {
  for (let from = 0, size = 1; from < items.length; from += size, size = WAVE) {
    const results = await Promise.all(items.slice(from, from + size).map(task));
    if (results.includes(false)) return false;
  }
  return true;
}
