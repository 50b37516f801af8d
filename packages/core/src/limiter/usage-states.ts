import { HeadgateError, shown } from "../errors.ts";
import { requireOptions } from "../options.ts";
import { type Decision, setState, type UsageState } from "./decision.ts";

/** When to send the `Headgate-State` header. */
export interface WarnOptions {
  /** Warn when more than this share of the quota is used. Default 0.8. */
  readonly above?: number | undefined;
  /** Stop warning when less than this share is used. Default 0.7. */
  readonly below?: number | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set(["above", "below"]);

interface Kept {
  state: UsageState;
  /** When the quota is full again, on the store's clock. From then on the key is normal, whatever it has used since. */
  untilMs: number;
}

/**
 * The usage states of a rule's keys. Between the two thresholds a state stays as it was, so that a key at the edge does
 * not flap. Only keys that are not normal are kept, at most `maxKeys` of them; the oldest is forgotten first.
 */
export class UsageStates {
  readonly #kept = new Map<string, Kept>();
  readonly #above: number;
  readonly #below: number;
  readonly #maxKeys: number;

  constructor(warn: WarnOptions = {}, maxKeys = 10_000) {
    requireOptions(warn, OPTIONS, { at: "warn." });
    const { above = 0.8, below = Math.min(0.7, above) } = warn;
    requireShare(above, "warn.above");
    requireShare(below, "warn.below");
    if (below > above) {
      throw new HeadgateError("HG_BAD_OPTION", "warn.below", `must not be over warn.above (${above}), got ${below}`);
    }
    this.#above = above;
    this.#below = below;
    this.#maxKeys = maxKeys;
  }

  /** How many keys are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** Sets the state of a decision that charged nothing. */
  peek(key: string, decision: Decision): void {
    setState(decision, this.#next(stateAt(this.#kept.get(key), decision), decision));
  }

  /** Sets the state of a decision and keeps it. Returns the state that the key had before. */
  enter(key: string, decision: Decision): UsageState {
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(key);
    const before = stateAt(kept, decision);
    const state = this.#next(before, decision);
    if (state !== "normal") this.#keep(key, kept, state, decision.timeMs + decision.resetAfterMs);
    else if (kept !== undefined) this.#kept.delete(key);
    setState(decision, state);
    return before;
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }

  #next(before: UsageState, { allowed, remaining, retryAfterMs, burst }: Decision): UsageState {
    if (!allowed && retryAfterMs < Number.POSITIVE_INFINITY) return "throttled";
    // A fraction of a unit cannot be used.
    const units = Math.max(1, Math.floor(burst));
    const used = (units - Math.floor(remaining)) / units;
    if (used >= 1) return "throttled";
    if (used > this.#above) return "warning";
    return before !== "normal" && used >= this.#below ? "warning" : "normal";
  }

  #keep(key: string, kept: Kept | undefined, state: UsageState, untilMs: number): void {
    if (kept !== undefined) {
      kept.state = state;
      kept.untilMs = untilMs;
      return;
    }
    if (this.#kept.size >= this.#maxKeys) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest);
    }
    this.#kept.set(key, { state, untilMs });
  }
}

function stateAt(kept: Kept | undefined, { timeMs }: Decision): UsageState {
  return kept !== undefined && timeMs < kept.untilMs ? kept.state : "normal";
}

function requireShare(share: unknown, field: string): asserts share is number {
  if (typeof share !== "number" || !(share >= 0 && share <= 1)) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a share from 0 to 1, got ${shown(share)}`);
  }
}
