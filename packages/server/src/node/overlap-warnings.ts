import type { Catalogue } from "../rules/catalogue.ts";
import type { Log } from "./log.ts";

/** More would not be read. */
const MOST_TOLD = 10;

/** Says in the log which rules get in each other's way, once for each state of affairs. */
export class OverlapWarnings {
  private readonly log: Log;
  private told = "[]";

  constructor(log: Log) {
    this.log = log;
  }

  tell({ warnings }: Catalogue): void {
    const text = JSON.stringify(warnings);
    if (text === this.told) return;
    this.told = text;
    if (warnings.length === 0) return;
    this.log.warn(
      { overlaps: warnings.slice(0, MOST_TOLD), count: warnings.length },
      "rules overlap: headgate doctor tells all",
    );
  }
}
