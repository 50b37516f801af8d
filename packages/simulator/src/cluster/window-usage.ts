import { algorithms, type Limit } from "headgate";

/** Units that keys were admitted in each window of the clock, against what the limit allows in one. */
export class WindowUsage {
  readonly #window: number;
  /** With a burst, a full bucket and what flows back; otherwise the limit. */
  readonly #most: number;
  readonly #units = new Map<string, { units: number; isDenied: boolean }>();

  constructor({ algorithm, limit, window, burst }: Limit) {
    this.#window = window;
    this.#most = algorithms[algorithm].traits.burst ? burst + limit : limit;
  }

  count(key: string, cost: number, allowed: boolean, time: number): void {
    const name = `${Math.floor(time / this.#window)} ${key}`;
    let usage = this.#units.get(name);
    if (usage === undefined) {
      usage = { units: 0, isDenied: false };
      this.#units.set(name, usage);
    }
    if (allowed) usage.units += cost;
    else usage.isDenied = true;
  }

  report(): { readonly mostOfLimit: number; readonly averageOfLimit: number } {
    let [most, sum, denied] = [0, 0, 0];
    for (const { units, isDenied } of this.#units.values()) {
      most = Math.max(most, units);
      if (!isDenied) continue;
      sum += units;
      denied += 1;
    }
    return { mostOfLimit: most / this.#most, averageOfLimit: denied === 0 ? 0 : sum / denied / this.#most };
  }
}
