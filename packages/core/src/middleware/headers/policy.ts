import type { Limit } from "../../limits/limit.ts";
import { integerText, printable, stringText } from "./structured-field.ts";

/** A rule as the headers name and state it. Its texts are made once, not for each response. */
export class Policy {
  readonly limit: Limit;
  /** The rule's name, as far as a header can carry it; the rest is percent-encoded. */
  readonly name: string;
  /** `"api"`, as a structured string. */
  readonly quoted: string;
  /** `"api";q=100;w=60`: the newest draft. */
  readonly item: string;
  /** `100;w=60`: drafts 6 and 7. */
  readonly quotaItem: string;
  /** Up to what remains: `"api";r=`. */
  readonly standing: string;

  constructor(rule: string, limit: Limit) {
    const quota = integerText(limit.limit);
    // A window in whole seconds is all that can be told; a longer one never promises too much.
    const window = integerText(Math.ceil(limit.window / 1_000_000));
    const burst = limit.burst === limit.limit ? "" : integerText(limit.burst);
    this.limit = limit;
    this.name = printable(rule);
    this.quoted = stringText(this.name);
    this.item = `${this.quoted};q=${quota};w=${window}${burst && `;headgate-burst=${burst}`}`;
    this.quotaItem = `${quota};w=${window}${burst && `;burst=${burst}`}`;
    this.standing = `${this.quoted};r=`;
  }
}
