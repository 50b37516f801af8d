import type { Limit } from "../../limits/limit.ts";
import { integerText, printable, stringText } from "./structured-field.ts";

/** A rule as headers name and describe it. The texts are built once, not per response. */
export class Policy {
  readonly limit: Limit;
  /** The rule's name, with characters that a header cannot contain percent-encoded. */
  readonly name: string;
  /** `"api"`, as a structured string. */
  readonly quoted: string;
  /** `"api";q=100;w=60`: the current draft. */
  readonly item: string;
  /** `100;w=60`: drafts 6 and 7. */
  readonly quotaItem: string;
  /** The part before the remaining units: `"api";r=`. */
  readonly remainingStart: string;

  constructor(rule: string, limit: Limit) {
    const quota = integerText(limit.limit);
    // Windows are reported in whole seconds, rounded up so that they never promise too much.
    const window = integerText(Math.ceil(limit.window / 1_000_000));
    const burst = limit.burst === limit.limit ? "" : integerText(limit.burst);
    this.limit = limit;
    this.name = printable(rule);
    this.quoted = stringText(this.name);
    this.item = `${this.quoted};q=${quota};w=${window}${burst && `;headgate-burst=${burst}`}`;
    this.quotaItem = `${quota};w=${window}${burst && `;burst=${burst}`}`;
    this.remainingStart = `${this.quoted};r=`;
  }
}
