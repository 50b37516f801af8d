import type { RateLimitInfo } from "../middleware/headers/parse-headers.ts";

type Input = Parameters<typeof fetch>[0];
type Init = Parameters<typeof fetch>[1];

/** Sending these twice is as good as sending them once. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

/** A request that may have to be sent more than once. */
export class Outgoing {
  readonly url: string;
  readonly method: string;
  readonly signal: AbortSignal | undefined;
  /** Whether its body can be had again: a stream is gone once it was read. */
  readonly repeatable: boolean;
  private readonly input: Input;
  private readonly init: Init;

  constructor(input: Input, init: Init) {
    const request = input instanceof Request ? input : undefined;
    this.input = input;
    this.init = init;
    this.url = request?.url ?? String(input);
    this.method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    this.signal = init?.signal ?? request?.signal ?? undefined;
    this.repeatable = !(init?.body instanceof ReadableStream);
  }

  /** The arguments of one `fetch`. A request's own body is copied, for it can be read only once. */
  copy(): [Input, Init] {
    const { input, init } = this;
    const copied = input instanceof Request && this.init?.body === undefined ? input.clone() : input;
    return [copied, init];
  }
}

/** Too many requests, or too few hands. */
export function isRefusal(status: number, info: RateLimitInfo): boolean {
  return status === 429 || status === 503 || (status === 403 && isOverLimit(info));
}

/**
 * Whether a 403 is for a limit, as it is with GitHub. Those who name their limits speak the newest draft and have 429
 * for that: with them, a small limit has nothing left after any answer.
 */
function isOverLimit({ retryAfterMs, limits }: RateLimitInfo): boolean {
  return retryAfterMs !== undefined || limits.some(({ name, remaining }) => name === undefined && remaining === 0);
}

/** Of what was refused: a 503 may have been processed in part, so only what is idempotent is sent again. */
export function maySendAgain({ method, repeatable }: Outgoing, status: number): boolean {
  return repeatable && (status !== 503 || IDEMPOTENT.has(method));
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** How much later than told a client comes at most, so that not all come at once. */
const JITTER = 0.1;

/** How long to wait before a refused request is sent again: as told, or twice as long as before. Never less than told. */
export function waitBefore(attempt: number, { retryAfterMs, limits }: RateLimitInfo, random: () => number): number {
  const told = retryAfterMs ?? usedUpFor(limits);
  if (told !== undefined) return told * (1 + JITTER * random());
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (0.5 + 0.5 * random());
}

/** Until all limits that are used up have something again. One that should have it by now, but refuses, tells nothing. */
function usedUpFor(limits: RateLimitInfo["limits"]): number | undefined {
  const waits = limits.flatMap(({ remaining, resetAfterMs = 0 }) => {
    return remaining === 0 && resetAfterMs > 0 ? [resetAfterMs] : [];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}
