import type { Stat } from "node-zookeeper-client";
import type { Clock } from "../../clock/clock.ts";
import { localTime, ServerClock } from "../server-clock.ts";

/** ZooKeeper reports time in milliseconds. */
const RESOLUTION = 1_000;

/** How long an estimate of the leader's clock is used before it is refreshed, in microseconds. */
const KEPT_FOR = 30_000_000;

/**
 * The clock of the ensemble's leader, which timestamps every write. Processes that share a store thus agree on the
 * time, whatever their own clocks say.
 */
export class LeaderClock {
  readonly clock: Clock;
  private readonly leader = new ServerClock();
  private readonly own: Clock | undefined;
  private learned = Number.NEGATIVE_INFINITY;

  /** `own` replaces the leader's clock in tests. */
  constructor(own: Clock | undefined) {
    this.own = own;
    this.clock = own ?? this.leader;
  }

  now(): number {
    return this.clock.now();
  }

  get isKnown(): boolean {
    return this.own !== undefined || this.leader.isKnown;
  }

  get isOld(): boolean {
    return this.own === undefined && localTime() - this.learned > KEPT_FOR;
  }

  /** Records the timestamp of a write that was sent at a local time. */
  learn(stat: Stat, sent: number): void {
    this.learned = localTime();
    this.leader.learn(timeOf(stat), sent, this.learned, RESOLUTION);
  }

  /** When a write becomes void if its caller waits until `due`, a local time. Never with a test's own clock. */
  voidFrom(due: number): number {
    return this.own === undefined ? Math.ceil(due) + this.leader.mostAhead : Number.POSITIVE_INFINITY;
  }

  /** Whether a write was too late to count. */
  isVoid(stat: Stat, voidFrom: number): boolean {
    return this.own === undefined && timeOf(stat) >= voidFrom;
  }
}

/** When a znode was last written, by the leader's clock, in microseconds. */
export function timeOf({ mtime }: Stat): number {
  return Number(mtime.readBigInt64BE()) * 1_000;
}
