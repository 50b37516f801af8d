import type { Answer, Limit } from "headgate";
import { DeniedKeys } from "./denied-keys.ts";
import { narrowColumn, wideColumn } from "./key-columns.ts";
import type { KeyIndex } from "./key-index.ts";
import type { KeyReport, RuleMode, RuleReport } from "./replay-report.ts";
import { WorstMinute } from "./worst-minute.ts";

const PEAK_CLASSES = 10;

/** Counts what one rule decides. */
export class RuleTally {
  readonly #rule: string;
  readonly #mode: RuleMode;
  readonly #index: KeyIndex;
  readonly #requests = wideColumn();
  /** The largest share of the limit that a key used. */
  readonly #peaks = narrowColumn();
  readonly #deniedKeys = new DeniedKeys();
  readonly #minutes = new WorstMinute();
  #total = 0;
  #denied = 0;

  constructor(rule: string, mode: RuleMode, index: KeyIndex) {
    this.#rule = rule;
    this.#mode = mode;
    this.#index = index;
  }

  /** `charged`: whether the request was charged, that is, no other rule denied it. */
  count(key: number, { time, allowed, remaining, retryAfter }: Answer, { burst }: Limit, charged: boolean): void {
    const { size } = this.#index;
    this.#total += 1;
    this.#requests.upTo(size)[key] += 1;
    this.#minutes.count(time, !allowed);
    if (!allowed) {
      this.#denied += 1;
      this.#deniedKeys.deny(key, time, retryAfter);
      return;
    }
    if (this.#deniedKeys.size > 0) this.#deniedKeys.admit(key, time);
    if (!charged) return;
    const peaks = this.#peaks.upTo(size);
    const share = (burst - remaining) / burst;
    if (share > peaks[key]) peaks[key] = share;
  }

  report(end: number, top: number): RuleReport {
    const { size } = this.#index;
    const requests = this.#requests.upTo(size);
    const peaks = this.#peaks.upTo(size);
    const denied = [...this.#deniedKeys.entries(end)];
    const peakUsage = new Array<number>(PEAK_CLASSES).fill(0);
    const isDenied = new Set(denied.map(({ key }) => key));
    let keys = 0;
    for (let key = 0; key < size; key += 1) {
      if (requests[key] === 0) continue;
      keys += 1;
      if (isDenied.has(key)) continue;
      // Float32 may round 0.1 up, which must not put it into the next class.
      const peak = Math.ceil(peaks[key] * PEAK_CLASSES - 1e-5);
      peakUsage[Math.min(Math.max(peak, 1), PEAK_CLASSES) - 1] += 1;
    }
    const hitFirst = denied.slice(0, top).map(({ key, firstAt: time }) => ({ key: this.#index.nameOf(key), time }));
    const topDenied = denied
      .sort((a, b) => b.denied - a.denied || a.firstAt - b.firstAt)
      .slice(0, top)
      .map(({ key, denied, firstAt: firstDeniedAt, shutOut }): KeyReport => {
        const all = requests[key];
        const name = this.#index.nameOf(key);
        return { key: name, requests: all, admitted: all - denied, denied, firstDeniedAt, shutOut };
      });
    return {
      rule: this.#rule,
      mode: this.#mode,
      requests: this.#total,
      admitted: this.#total - this.#denied,
      denied: this.#denied,
      keys,
      deniedKeys: denied.length,
      worstMinute: this.#minutes.worst,
      hitFirst,
      topDenied,
      peakUsage,
    };
  }
}
