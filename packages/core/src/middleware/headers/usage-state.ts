import { HeadgateError } from "../../errors.ts";
import { must, type Requirements, readOptions } from "../../options.ts";
import type { Policy } from "./policy.ts";
import { type HeaderField, listField } from "./response-headers.ts";

/** How close a key is to its limit: below the warning threshold, above it, or at the limit. */
export type UsageState = "normal" | "warning" | "throttled";

/** When to send the `Headgate-State` header. */
export interface WarnOptions {
  /** Warn when more than this share of the quota is used. Default 0.8. */
  readonly above?: number | undefined;
  /** Stop warning when less than this share is used. Default 0.7. */
  readonly below?: number | undefined;
}

export interface Thresholds {
  readonly above: number;
  readonly below: number;
}

const share = must("a share from 0 to 1", (value) => typeof value === "number" && value >= 0 && value <= 1);
const REQUIREMENTS: Requirements<WarnOptions> = { above: share, below: share };

export function requireThresholds(options: WarnOptions = {}): Thresholds {
  const { above = 0.8, below = Math.min(0.7, above) } = readOptions(options, REQUIREMENTS, { at: "warn." });
  if (below > above) {
    throw new HeadgateError("HG_BAD_OPTION", "warn.below", `must not exceed warn.above (${above}), got ${below}`);
  }
  return { above, below };
}

/**
 * The next state of a key. Between the two thresholds it does not change, so that a key at the edge does not flap;
 * `warned` is whether it was warning or throttled.
 */
export function nextState(warned: boolean, used: number, { above, below }: Thresholds): UsageState {
  if (used >= 1) return "throttled";
  if (used > above) return "warning";
  return warned && used >= below ? "warning" : "normal";
}

/** The usage of one key under its limit. */
interface Usage {
  readonly remaining: number;
  readonly resetAfterMs: number;
}

/**
 * The usage states of a rule's keys. Keeps only keys with a warning, at most `maxKeys`, each until its quota is full
 * again: by then it has been below every threshold.
 */
export class UsageStates {
  private readonly fullAt = new Map<string, number>();
  private readonly thresholds: Thresholds;
  private readonly maxKeys: number;

  constructor(thresholds: Thresholds, maxKeys = 10_000) {
    this.thresholds = thresholds;
    this.maxKeys = maxKeys;
  }

  /** Number of keys. */
  get size(): number {
    return this.fullAt.size;
  }

  /** The state of a key after a decision. `capacity` is the full quota, and `now` returns milliseconds. */
  after(key: string, { remaining, resetAfterMs }: Usage, capacity: number, now: () => number): UsageState {
    // A fraction of a unit cannot be used.
    const units = Math.max(1, Math.floor(capacity));
    const used = (units - Math.floor(remaining)) / units;
    const { fullAt, thresholds } = this;
    if (used < thresholds.below) {
      if (fullAt.size > 0) fullAt.delete(key);
      return "normal";
    }
    const state = nextState(this.warned(key, now), used, thresholds);
    if (state === "normal") fullAt.delete(key);
    else this.keep(key, now() + resetAfterMs);
    return state;
  }

  private warned(key: string, now: () => number): boolean {
    const until = this.fullAt.get(key);
    return until !== undefined && now() < until;
  }

  /** Evicts the oldest warning if there is no room. Only the memory of that warning is lost. */
  private keep(key: string, until: number): void {
    if (this.fullAt.size >= this.maxKeys && !this.fullAt.has(key)) {
      const [oldest] = this.fullAt.keys();
      this.fullAt.delete(oldest);
    }
    this.fullAt.set(key, until);
  }
}

const HEADER = "Headgate-State";

/** A limit whose state is not normal. */
export interface ReportedState {
  readonly policy: Policy;
  readonly state: UsageState;
}

/**
 * The header for limits whose state is not normal, such as `warning;policy="api"`: a list of tokens in the order of the
 * policies. The IETF draft has no such header.
 */
export function stateHeader(reported: readonly ReportedState[]): HeaderField {
  return listField(HEADER, reported.map(({ policy, state }) => `${state};policy=${policy.quoted}`).join(", "));
}
