import { traitsOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { windowLength } from "../../limits/window-end.ts";
import { integerText, printable, stringText } from "./structured-field.ts";

/** A rule as headers name and describe it. */
export class Policy {
  readonly limit: Limit;
  /** Whether the texts of the window are the same for all responses. Those of a calendar are not. */
  readonly isConstant: boolean;
  /** The rule's name, with characters that a header cannot contain percent-encoded. */
  readonly name: string;
  /** `"api"`, as a structured string. */
  readonly quoted: string;
  /** Whether it limits requests that run at the same time. */
  readonly isSlots: boolean;
  /** The part before the remaining units: `"api";r=`. */
  readonly remainingStart: string;
  readonly #quota: string;
  readonly #burst: string;

  constructor(rule: string, limit: Limit) {
    this.limit = limit;
    this.isConstant = limit.calendar === undefined;
    this.name = printable(rule);
    this.quoted = stringText(this.name);
    this.isSlots = traitsOf(limit).releasable === true;
    this.remainingStart = `${this.quoted};r=`;
    this.#quota = integerText(limit.limit);
    this.#burst = limit.burst === limit.limit ? "" : integerText(limit.burst);
  }

  /** `"api";q=100;w=60`, or `"jobs";q=8;qu="concurrent-requests"`: the current draft, at a time in milliseconds. */
  itemAt(timeMs: number): string {
    // Slots have no window: the quota unit says that requests count while they run.
    if (this.isSlots) return `${this.quoted};q=${this.#quota};qu="concurrent-requests"`;
    return `${this.quoted};q=${this.#quota};w=${this.#windowAt(timeMs)}${this.#burst && `;headgate-burst=${this.#burst}`}`;
  }

  /** `100;w=60`, or `8`: drafts 6 and 7. */
  quotaItemAt(timeMs: number): string {
    if (this.isSlots) return this.#quota;
    return `${this.#quota};w=${this.#windowAt(timeMs)}${this.#burst && `;burst=${this.#burst}`}`;
  }

  /** In whole seconds, rounded up so that it never promises too much. */
  #windowAt(timeMs: number): string {
    return integerText(Math.ceil(windowLength(this.limit, timeMs * 1000) / 1_000_000));
  }
}
