import type { Stat } from "node-zookeeper-client";
import type { Clock } from "../../clock/clock.ts";
import { localTime, ServerClock } from "../server-clock.ts";

/** ZooKeeper tells time in milliseconds. */
const RESOLUTION = 1_000;

/** Older knowledge of the leader's clock is renewed, in microseconds. */
const KEPT_FOR = 30_000_000;

/**
 * The time of the server that leads the ensemble, which it puts on everything that is written. So the processes that
 * share a store agree on the time, whatever their own clocks say.
 */
export class LeaderClock {
  readonly clock: Clock;
  private readonly leader = new ServerClock();
  private readonly own: Clock | undefined;
  private learned = Number.NEGATIVE_INFINITY;

  /** `own` takes the place of the leader's clock, for tests. */
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

  /** Takes in when something was written that was sent at a local time. */
  learn(stat: Stat, sent: number): void {
    this.learned = localTime();
    this.leader.learn(timeOf(stat), sent, this.learned, RESOLUTION);
  }

  /** From when on a write is void whose caller does not wait beyond `due`, a local time. A test's own clock knows no such time. */
  voidFrom(due: number): number {
    return this.own === undefined ? Math.ceil(due) + this.leader.mostAhead : Number.POSITIVE_INFINITY;
  }

  /** Whether what was written came too late to count. */
  isVoid(stat: Stat, voidFrom: number): boolean {
    return this.own === undefined && timeOf(stat) >= voidFrom;
  }
}

/** When a znode was last written, by the leader's clock, in microseconds. */
export function timeOf({ mtime }: Stat): number {
  return Number(mtime.readBigInt64BE()) * 1_000;
}
