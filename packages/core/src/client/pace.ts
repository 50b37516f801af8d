import type { Clock } from "../clock/clock.ts";
import type { RateLimitInfo, StatedLimit } from "../middleware/headers/parse-headers.ts";

/** Below this share of a quota, the remaining units are spread over the remaining time. */
const SCARCE = 0.2;

/** Maximum number of limits to track per server. */
const MOST_LIMITS = 32;

/** Name of the limit that a bare `Retry-After` implies. A header cannot contain this name. */
const RETRY_AFTER = "\0retry-after";

/** What is known about one limit: the units left until a time. */
interface Known {
  remaining: number;
  /** Microseconds by the clock; Infinity while one request is probing the limit. */
  until: number;
  readonly scarce: boolean;
}

/**
 * Keeps requests to one server within the limits it reports, in the order in which they arrive. After an exhausted
 * limit has reset, one request probes it, and the others follow when its response reports the new quota. Otherwise all
 * waiting requests would be sent at once.
 */
export class Pace {
  private readonly clock: Clock;
  private readonly limits = new Map<string, Known>();
  private line: Promise<void> = Promise.resolve();
  private inFlight = 0;
  private sentAt = 0;
  private changed = (): void => {};

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Resolves when a request may be sent, or after `maxWaitMs`; the server then decides. */
  async turn(maxWaitMs: number, signal?: AbortSignal): Promise<void> {
    const deadline = this.clock.now() + maxWaitMs * 1000;
    const before = this.line;
    let leave = (): void => {};
    this.line = new Promise((resolve) => {
      leave = resolve;
    });
    try {
      await this.eitherOf(before, deadline, signal);
      await this.ready(deadline, signal);
      this.take();
    } finally {
      before.then(leave);
    }
  }

  /**
   * Must be called once per turn, with the limits in the response and whether it was denied; `undefined` if there was
   * no response.
   */
  done(info: RateLimitInfo | undefined, denied = false): void {
    this.inFlight -= 1;
    for (const [name, known] of this.limits) {
      const asked = known.until === Number.POSITIVE_INFINITY;
      // A request that had waited `maxWaitMs` was sent and succeeded: otherwise an endless wait would slow all requests
      // forever.
      const disproved = known.remaining < 0 && info !== undefined && !denied;
      // The probe got no response, so the next request may probe. A response that does not mention this limit ends it.
      if (asked && info === undefined) known.remaining = 1;
      else if (asked || disproved) this.limits.delete(name);
    }
    if (info !== undefined) this.learn(info, denied);
    this.changed();
  }

  private learn({ limits, policies, retryAfterMs }: RateLimitInfo, denied: boolean): void {
    for (const limit of limits) {
      const policy = policies.find(({ name, partition }) => name === limit.name && partition === limit.partition);
      // Quota in other units, such as bytes, cannot be predicted.
      if (policy === undefined || policy.unit === "requests") this.know(limit, policy?.quota);
    }
    if (denied && retryAfterMs !== undefined)
      this.keep(RETRY_AFTER, { remaining: 0, until: this.after(retryAfterMs), scarce: false });
  }

  private know({ name = "", partition = "", remaining, resetAfterMs }: StatedLimit, quota: number | undefined): void {
    if (resetAfterMs === undefined) return;
    // The server may not have seen the requests in flight yet.
    const left = Math.max(0, remaining - this.inFlight);
    const scarce = quota !== undefined && remaining < quota * SCARCE;
    this.keep(JSON.stringify([name, partition]), { remaining: left, until: this.after(resetAfterMs), scarce });
  }

  private keep(name: string, known: Known): void {
    if (this.limits.has(name) || this.limits.size < MOST_LIMITS) this.limits.set(name, known);
  }

  private async ready(deadline: number, signal: AbortSignal | undefined): Promise<void> {
    for (let until = this.earliest(); until > this.clock.now(); until = this.earliest()) {
      if (this.clock.now() >= deadline) return;
      const change = new Promise<void>((resolve) => {
        this.changed = resolve;
      });
      await this.eitherOf(change, Math.min(until, deadline), signal);
    }
  }

  /** When the next request may be sent, as far as is known. */
  private earliest(): number {
    const now = this.clock.now();
    let earliest = now;
    for (const [name, known] of this.limits) {
      if (known.until <= now) {
        if (known.remaining > 0 && name !== RETRY_AFTER) {
          this.limits.delete(name);
          continue;
        }
        known.until = Number.POSITIVE_INFINITY;
        known.remaining = 1;
      }
      earliest = Math.max(earliest, this.earliestUnder(known));
    }
    return earliest;
  }

  private earliestUnder({ remaining, until, scarce }: Known): number {
    if (remaining < 1) return until;
    if (!scarce || until === Number.POSITIVE_INFINITY) return 0;
    return this.sentAt + (until - this.sentAt) / (remaining + 1);
  }

  private take(): void {
    this.inFlight += 1;
    this.sentAt = this.clock.now();
    for (const known of this.limits.values()) known.remaining -= 1;
  }

  /** Waits for the promise, but not beyond `until`. */
  private async eitherOf(promise: Promise<void>, until: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    const sleep = this.clock.sleep((until - this.clock.now()) / 1000, stop.signal);
    // If the promise resolves first, the sleep is aborted below.
    sleep.catch(() => {});
    try {
      await Promise.race([promise, sleep]);
    } finally {
      signal?.removeEventListener("abort", onAbort);
      stop.abort();
    }
  }

  private after(ms: number): number {
    return this.clock.now() + ms * 1000;
  }
}
