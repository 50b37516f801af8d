/** How many tasks run at the same time: about as many as one call to Redis carries. */
const WAVE = 64;

/**
 * Runs a task for each item, a limited number of them at a time. A task returns whether it succeeded. With
 * `stopsEarly`, stops when none of a wave did, because then the others would probably fail, too. Returns whether any
 * task succeeded.
 */
export async function inWaves<Item>(
  items: readonly Item[],
  task: (item: Item) => Promise<boolean>,
  { stopsEarly }: { readonly stopsEarly: boolean },
): Promise<boolean> {
  let succeeded = 0;
  for (let from = 0; from < items.length; from += WAVE) {
    const results = await Promise.all(items.slice(from, from + WAVE).map(task));
    if (results.includes(true)) succeeded += 1;
    else if (stopsEarly) break;
  }
  return succeeded > 0;
}
