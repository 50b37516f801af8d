import { type Clock, type MemoryLimiter, rateLimiter, tokenBucket } from "headgate";
import { addressText, parseAddress } from "headgate/http";
import type { Transport } from "../metrics/telemetry.ts";

/** Number of addresses to track. Further ones share one quota, so that flooding does not free any address. */
const MOST_ADDRESSES = 100_000;
/** An IPv6 client controls a whole /64 prefix. */
const IPV6_PREFIX = 64;

export interface WrongKeysOptions {
  /** Per address. */
  readonly perMinute: number;
  readonly log?: { warn(fields: object, message: string): void } | undefined;
  readonly clock?: Clock;
}

/** Counts wrong API keys by address, throttles guessing, and logs it. */
export class WrongKeys {
  /** Wrong keys so far. */
  readonly counts = { rejected: 0, throttled: 0 };
  private readonly limiter: MemoryLimiter<
    Record<"guesses" | "lines" | "lines-of-address", ReturnType<typeof tokenBucket>>
  >;
  private readonly log: WrongKeysOptions["log"];
  /** Rejected since the last log line. */
  private unlogged = 0;

  constructor({ perMinute, log, clock }: WrongKeysOptions) {
    const rules = {
      guesses: tokenBucket({ limit: perMinute, windowMs: 60_000 }),
      // Enough to be noticed, without letting an attack fill the disk.
      lines: tokenBucket("10/m"),
      "lines-of-address": tokenBucket("1/m"),
    };
    this.limiter = rateLimiter(rules, { maxKeys: MOST_ADDRESSES, ...(clock !== undefined && { clock }) });
    this.log = log;
  }

  /** Milliseconds until a key from this address is compared again; 0 if it can be now. */
  retryAfterMs(address: string): number {
    const decision = this.limiter.peekSync("guesses", keyOf(address));
    return decision.allowed ? 0 : decision.retryAfterMs;
  }

  /** Records a rejected key, whether it was compared or not. */
  note(address: string, transport: Transport): void {
    const key = keyOf(address);
    const { allowed } = this.limiter.checkSync("guesses", key);
    this.counts[allowed ? "rejected" : "throttled"] += 1;
    this.unlogged += 1;
    if (!this.limiter.checkSync("lines-of-address", key).allowed) return;
    if (!this.limiter.checkSync("lines", "all").allowed) return;
    this.log?.warn({ address: key, transport, rejected: this.unlogged }, "wrong API key");
    this.unlogged = 0;
  }
}

function keyOf(address: string): string {
  const parsed = parseAddress(address);
  return parsed === undefined ? "unknown" : addressText(parsed, IPV6_PREFIX);
}
