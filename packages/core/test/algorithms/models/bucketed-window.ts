import { Fraction, floorDivide } from "../fraction.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

interface Bucket {
  readonly number: bigint;
  count: bigint;
}

/** A queue of numbered buckets: old ones fall off its head, new ones join its tail. */
export class BucketedWindowModel implements Model {
  private readonly limit: bigint;
  private readonly window: bigint;
  private readonly width: bigint;
  private buckets: Bucket[] = [];
  private latest: bigint | undefined;

  constructor(limit: number, window: number, width: number) {
    this.limit = BigInt(limit);
    this.window = BigInt(window);
    this.width = BigInt(width);
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.latest);
    const outdated = floorDivide(time - this.window, this.width);
    const buckets = this.buckets.filter(({ number }) => number > outdated).map((bucket) => ({ ...bucket }));
    let total = buckets.reduce((sum, { count }) => sum + count, 0n);
    const allowed = total + cost <= this.limit;
    if (allowed && cost > 0n) {
      const number = floorDivide(time, this.width);
      const tail = buckets.at(-1);
      if (tail?.number === number) tail.count += cost;
      else buckets.push({ number, count: cost });
      total += cost;
      this.buckets = buckets;
      this.latest = time;
    }
    const tail = buckets.at(-1);
    return {
      allowed,
      remaining: Fraction.of(this.limit - total),
      retryAfter: allowed ? 0n : cost > this.limit ? "never" : this.leavesRoom(buckets, total, cost) - now,
      resetAfter: tail === undefined ? 0n : this.dropOf(tail) - now,
    };
  }

  /** When the queue's head has been dropped so often that the cost fits. */
  private leavesRoom(buckets: readonly Bucket[], total: bigint, cost: bigint): bigint {
    let left = total;
    for (const bucket of buckets) {
      left -= bucket.count;
      if (left + cost <= this.limit) return this.dropOf(bucket);
    }
    throw new Error("an empty queue has room");
  }

  /** The first time whose window's start lies in the bucket. */
  private dropOf({ number }: Bucket): bigint {
    return number * this.width + this.window;
  }
}

export { leavesAtOnce as tenUnits } from "./ten-units.ts";
