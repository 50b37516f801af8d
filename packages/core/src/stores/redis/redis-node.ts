import { ServerClock } from "../server-clock.ts";

/** For so long a server may say nothing while it owes a reply (microseconds). Then its connection is given up. */
const LONGEST_SILENCE = 900_000;

/** What a store knows of one server. */
export class RedisNode {
  /** In a cluster its address, else empty. */
  readonly name: string;
  readonly clock = new ServerClock();
  /** Calls that it has not replied to. */
  private pending = 0;
  /** Since when it owes a reply. */
  private owesSince = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Takes note that a call was sent. */
  asked(time: number): void {
    if (this.pending === 0) this.owesSince = time;
    this.pending += 1;
  }

  /** Takes note that a call has ended, by a reply or with its connection. */
  ended(time: number): void {
    this.pending -= 1;
    this.owesSince = time;
  }

  /** Whether it has owed a reply for too long. */
  isSilent(time: number): boolean {
    return this.pending > 0 && time - this.owesSince >= LONGEST_SILENCE;
  }
}
