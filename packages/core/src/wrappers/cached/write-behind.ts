import type { Clock } from "../../clock/clock.ts";
import { StoreError } from "../../errors.ts";
import type { Limit } from "../../limits/limit.ts";
import { windowEnd } from "../../limits/window-end.ts";
import { type Answer, limitOf, type Operation, type Rule } from "../../stores/store.ts";
import { RecentMaximum } from "./recent-maximum.ts";
import type { TimedStore } from "./timed-store.ts";

/** Units that were admitted locally and have not been written to the store. */
export interface Delta {
  readonly home: DeltaHome;
  readonly key: string;
  /** The rule and limit that the latest of them were admitted under. */
  rule: Rule;
  limit: Limit;
  units: number;
  /** When they no longer count. After that, they are not written. */
  closes: number;
}

/** The deltas of one counter, by key. */
export interface DeltaHome {
  readonly deltas: Map<string, Delta>;
  /** Units sent and not yet answered, by key. */
  readonly inFlight: Map<string, number>;
}

/** Units that were admitted and will not be written to the store, by reason. */
export interface DroppedUnits {
  /** Their window closed before they could be written. */
  readonly closed: number;
  /** Their write got no reply. It may have been charged, so it is not sent again. */
  readonly unconfirmed: number;
  /** More than `maxPending` keys were waiting while the store was down. */
  readonly overflow: number;
  /** The store rejected them for a reason other than a failure. */
  readonly rejected: number;
  /** They could not be written when the store was closed. */
  readonly unwritten: number;
}

export interface WriteBehindOptions {
  readonly flushMs: number;
  readonly maxPending: number;
  /** For timers, and to measure how late they fire. */
  readonly timers: Clock;
  /** Called with the store's answer to each write. */
  readonly onAnswer: (delta: Delta, answer: Answer) => void;
  /** Called when a write fails. Returns whether the failure concerns the whole store, not only this key. */
  readonly onFailure: (delta: Delta) => boolean;
  /** Called with each flush. */
  readonly onFlush: () => void;
}

/**
 * Writes locally admitted units to the store, shortly afterwards and in batches. While the store works, writes do not
 * wait for earlier ones: every unit is sent within `flushMs`. While it fails, one call at a time tests whether it is
 * back.
 */
export class WriteBehind {
  flushes = 0;
  failedFlushes = 0;
  /** How late the latest timer fired, in microseconds, and the worst of the recent ones. */
  timerLag = 0;
  readonly worstTimerLag: RecentMaximum;
  readonly dropped: { -readonly [Reason in keyof DroppedUnits]: number } = {
    closed: 0,
    unconfirmed: 0,
    overflow: 0,
    rejected: 0,
    unwritten: 0,
  };
  private readonly link: TimedStore;
  private readonly clock: Clock;
  private readonly options: WriteBehindOptions;
  private readonly waiting = new Set<Delta>();
  private readonly sent = new Map<Delta, Promise<void>>();
  private armed = false;
  private retrying: Promise<void> | undefined;
  private probing: Promise<boolean> | undefined;
  private ended = false;

  constructor(link: TimedStore, clock: Clock, options: WriteBehindOptions) {
    this.link = link;
    this.clock = clock;
    this.options = options;
    this.worstTimerLag = new RecentMaximum(options.timers.now());
  }

  get pendingUnits(): number {
    let units = 0;
    for (const delta of this.waiting) units += delta.units;
    for (const delta of this.sent.keys()) units += delta.units;
    return units;
  }

  /** Units of a key that the store may not know about. */
  unwritten(home: DeltaHome, key: string): number {
    return (home.deltas.get(key)?.units ?? 0) + (home.inFlight.get(key) ?? 0);
  }

  /** Adds the units of an admitted request. */
  add(home: DeltaHome, operation: Operation, now: number): void {
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    const delta = home.deltas.get(key);
    if (delta !== undefined && now < delta.closes) {
      delta.units += cost;
      delta.rule = rule;
      delta.limit = limit;
      return;
    }
    if (delta !== undefined) this.drop(delta, "closed");
    this.wait({ home, key, rule, limit, units: cost, closes: windowEnd(limit, now) });
  }

  /** Removes and returns the delta of a key, if there is one. */
  take(home: DeltaHome, key: string): Delta | undefined {
    const delta = home.deltas.get(key);
    if (delta !== undefined) this.remove(delta);
    return delta;
  }

  /** Puts back a delta that was taken and not written. */
  putBack(delta: Delta): void {
    const newer = delta.home.deltas.get(delta.key);
    if (this.clock.now() >= delta.closes) {
      this.dropped.closed += delta.units;
    } else if (newer === undefined) {
      this.wait(delta);
    } else {
      newer.units += delta.units;
      newer.closes = Math.min(newer.closes, delta.closes);
    }
  }

  /** Writes the delta of a key now, so that a request sent next finds it charged. */
  writeNow(home: DeltaHome, key: string): void {
    const delta = home.deltas.get(key);
    if (delta !== undefined && this.clock.now() >= delta.closes) this.drop(delta, "closed");
    else if (delta !== undefined && !this.link.failing) void this.write(delta);
  }

  /** Writes the delta of a key, and waits until everything sent for the key has been answered. */
  async settle(home: DeltaHome, key: string): Promise<void> {
    this.writeNow(home, key);
    const written: Promise<void>[] = [];
    for (const [delta, sent] of this.sent) if (delta.key === key && delta.home === home) written.push(sent);
    await Promise.all(written);
  }

  /** Writes all pending deltas. The calls are made in one tick, so that a store can send them together. */
  async flush(): Promise<void> {
    this.options.onFlush();
    this.dropClosed();
    if (this.link.failing) await this.retryAlone();
    else if (this.sent.size < this.options.maxPending) await this.writeAll();
    if (this.waiting.size > 0) this.arm();
  }

  /** Writes what can be written, and stops. */
  async end(): Promise<void> {
    this.ended = true;
    // Twice, because the first round may wait for a full queue that is already in flight.
    for (let i = 0; i < 2; i += 1) {
      await this.flush();
      await Promise.all(this.sent.values());
    }
    for (const delta of this.waiting) this.drop(delta, "unwritten");
  }

  private wait(delta: Delta): void {
    const { maxPending } = this.options;
    if (this.waiting.size >= maxPending) {
      const [oldest] = this.waiting;
      this.drop(oldest, "overflow");
    }
    delta.home.deltas.set(delta.key, delta);
    this.waiting.add(delta);
    if (this.waiting.size >= maxPending && !this.link.failing) void this.flush();
    else this.arm();
  }

  private arm(): void {
    if (this.armed) return;
    this.armed = true;
    const { flushMs, maxPending, timers } = this.options;
    // Without a pause, retrying a store that cannot accept writes would block everything else.
    const ms = this.link.failing || this.sent.size >= maxPending ? Math.max(1, flushMs) : flushMs;
    const due = timers.now() + ms * 1000;
    void timers.sleep(ms).then(() => {
      this.armed = false;
      const now = timers.now();
      this.timerLag = Math.max(0, now - due);
      this.worstTimerLag.add(this.timerLag, now);
      if (!this.ended) void this.flush();
    });
  }

  private async writeAll(): Promise<void> {
    if (this.waiting.size === 0) return;
    this.flushes += 1;
    await Promise.all([...this.waiting].map((delta) => this.write(delta)));
    if (this.link.failing) this.failedFlushes += 1;
  }

  private retryAlone(): Promise<void> {
    this.retrying ??= this.retry().finally(() => {
      this.retrying = undefined;
    });
    return this.retrying;
  }

  /** Tests the store with a peek, which charges nothing if its answer is lost, then with one delta, then writes all. */
  private async retry(): Promise<void> {
    const [oldest] = this.waiting;
    if (oldest === undefined) return;
    // Another one next time: the store may fail only for some keys.
    this.waiting.delete(oldest);
    this.waiting.add(oldest);
    if ((await this.answers(oldest)) && this.waiting.has(oldest)) await this.write(oldest);
    if (this.link.failing) this.failedFlushes += 1;
    else await this.writeAll();
  }

  /** Whether the store answers a peek. */
  private async answers({ rule, key, limit }: Delta): Promise<boolean> {
    try {
      await this.link.ask("peek", [{ rule, key, cost: 1, limit }]);
      return true;
    } catch (error) {
      this.link.fail("peek", error);
      return false;
    }
  }

  private write(delta: Delta): Promise<void> {
    this.remove(delta);
    takeOff(delta);
    const written = this.send(delta).finally(() => this.sent.delete(delta));
    this.sent.set(delta, written);
    return written;
  }

  private async send(delta: Delta): Promise<void> {
    const { rule, key, limit, units, closes } = delta;
    try {
      const [answer] = await this.link.ask("penalize", [{ rule, key, cost: units, limit }], { voidFrom: closes });
      land(delta);
      this.options.onAnswer(delta, answer);
    } catch (error) {
      land(delta);
      await this.notWritten(delta, error);
    }
  }

  private async notWritten(delta: Delta, error: unknown): Promise<void> {
    const { units } = delta;
    const code = error instanceof StoreError ? error.code : undefined;
    // A write that arrived too late says nothing about the store.
    if (code === "HG_STORE_TIMEOUT" && this.clock.now() >= delta.closes) {
      this.dropped.closed += units;
      // Either the writes were too late or the store is down: one peek decides for all of them.
      this.probing ??= this.answers(delta).finally(() => {
        this.probing = undefined;
      });
      await this.probing;
      return;
    }
    const isWhole = this.options.onFailure(delta);
    if (error instanceof StoreError && error.scope === "key") {
      this.dropped.rejected += units;
      return;
    }
    if (isWhole) this.link.fail("penalize", error);
    if (code === "HG_STORE_REFUSED") this.putBack(delta);
    else if (code === undefined) this.dropped.rejected += units;
    else this.dropped.unconfirmed += units;
  }

  private dropClosed(): void {
    const now = this.clock.now();
    for (const delta of this.waiting) if (now >= delta.closes) this.drop(delta, "closed");
  }

  private drop(delta: Delta, reason: keyof DroppedUnits): void {
    this.remove(delta);
    this.dropped[reason] += delta.units;
  }

  private remove(delta: Delta): void {
    this.waiting.delete(delta);
    delta.home.deltas.delete(delta.key);
  }
}

type Units = Pick<Delta, "home" | "key" | "units">;

/** Marks units as in flight: earlier reports of the store do not include them. */
export function takeOff({ home, key, units }: Units): void {
  home.inFlight.set(key, (home.inFlight.get(key) ?? 0) + units);
}

/** Marks units as answered or lost. */
export function land({ home, key, units }: Units): void {
  const left = (home.inFlight.get(key) ?? 0) - units;
  if (left > 0) home.inFlight.set(key, left);
  else home.inFlight.delete(key);
}
