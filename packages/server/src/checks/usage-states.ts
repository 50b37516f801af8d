import { nextState, requireThresholds } from "headgate/http";
import type { UsageState } from "./check.ts";

const THRESHOLDS = requireThresholds();
const MOST_KEYS = 100_000;

/** The usage of a key under a limit after a decision. Times are in microseconds. */
export interface Usage {
  /** Share of the quota in use. */
  readonly used: number;
  /** Whether the limit denied a request that it could admit at another time. */
  readonly refused: boolean;
  /** When the quota is full again. */
  readonly fullAt: number;
}

interface Kept {
  state: UsageState;
  /** Until its quota is full again; after that, it has been normal. */
  until: number;
}

/**
 * The usage states of a family's keys. Only keys that are not normal are kept, up to a bound: the oldest are dropped
 * first, which loses only the memory of a warning.
 */
export class KeyStates {
  private readonly kept = new Map<string, Kept>();
  private readonly maxKeys: number;

  constructor(maxKeys = MOST_KEYS) {
    this.maxKeys = maxKeys;
  }

  get size(): number {
    return this.kept.size;
  }

  /** The state that a key would have, without storing it. */
  peek(key: string, usage: Usage, now: number): UsageState {
    return after(stateOf(this.kept.get(key), now), usage);
  }

  /** The same, and stores it. `onChange` is called if the key was in another state before. */
  enter(key: string, usage: Usage, now: number, onChange: (from: UsageState, to: UsageState) => void): UsageState {
    const kept = this.kept.size === 0 ? undefined : this.kept.get(key);
    const from = stateOf(kept, now);
    const to = after(from, usage);
    if (to !== "normal") this.keep(key, kept, to, usage.fullAt);
    else if (kept !== undefined) this.kept.delete(key);
    if (from !== to) onChange(from, to);
    return to;
  }

  /** Resets a key. */
  forget(key: string): void {
    this.kept.delete(key);
  }

  private keep(key: string, kept: Kept | undefined, state: UsageState, until: number): void {
    if (kept !== undefined) {
      kept.state = state;
      kept.until = until;
      return;
    }
    if (this.kept.size >= this.maxKeys) {
      const [oldest] = this.kept.keys();
      this.kept.delete(oldest);
    }
    this.kept.set(key, { state, until });
  }
}

function stateOf(kept: Kept | undefined, now: number): UsageState {
  return kept !== undefined && now < kept.until ? kept.state : "normal";
}

function after(from: UsageState, { used, refused }: Usage): UsageState {
  return refused ? "throttled" : nextState(from !== "normal", used, THRESHOLDS);
}
