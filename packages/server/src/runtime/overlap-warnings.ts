import type { Catalogue } from "../rules/catalogue.ts";
import { inTurns } from "../rules/cooperative-work.ts";
import type { Log } from "./log.ts";

/** Maximum number of overlaps to log. */
const MOST_TOLD = 10;

/** Logs which rules overlap, once for each set of rules. */
export class OverlapWarnings {
  private readonly log: Log;
  private told = "";

  constructor(log: Log) {
    this.log = log;
  }

  async tell(catalogue: Catalogue): Promise<void> {
    const warnings = await inTurns(catalogue.findWarnings());
    const found = { overlaps: warnings.slice(0, MOST_TOLD), count: warnings.length };
    const text = JSON.stringify(found);
    if (text === this.told) return;
    this.told = text;
    if (found.count > 0) this.log.warn(found, "rules overlap: headgate doctor lists all warnings");
  }
}
