import type { RateLimitInfo } from "../middleware/headers/parse-headers.ts";

type Input = Parameters<typeof fetch>[0];
type Init = Parameters<typeof fetch>[1];

/** Methods that are safe to repeat. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

/** A request that may have to be sent more than once. */
export class Outgoing {
  readonly url: string;
  readonly method: string;
  readonly signal: AbortSignal | undefined;
  /** Whether the body can be sent again. A stream can be read only once. */
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

  /** The arguments for one `fetch`. The body of a Request is copied, because it can be read only once. */
  copy(): [Input, Init] {
    const { input, init } = this;
    const copied = input instanceof Request && this.init?.body === undefined ? input.clone() : input;
    return [copied, init];
  }
}

/** Whether a response denies a request because of a limit or lack of capacity. */
export function isDenial(status: number, info: RateLimitInfo): boolean {
  return status === 429 || status === 503 || (status === 403 && isOverLimit(info));
}

/**
 * Whether a 403 is due to a limit, as on GitHub. Servers that name their limits implement the current draft and use 429
 * for that; for them, a small limit may be exhausted after any response.
 */
function isOverLimit({ retryAfterMs, limits }: RateLimitInfo): boolean {
  return retryAfterMs !== undefined || limits.some(({ name, remaining }) => name === undefined && remaining === 0);
}

/** A request answered with 503 may have been processed in part, so only idempotent requests are repeated. */
export function maySendAgain({ method, repeatable }: Outgoing, status: number): boolean {
  return repeatable && (status !== 503 || IDEMPOTENT.has(method));
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Maximum random delay on top of the wait, as a share of it, so that clients do not all return at once. */
const JITTER = 0.1;

/** How long to wait before a retry: as long as the server asks, or twice as long as the last time. */
export function waitBefore(attempt: number, { retryAfterMs, limits }: RateLimitInfo, random: () => number): number {
  const told = retryAfterMs ?? usedUpFor(limits);
  if (told !== undefined) return told * (1 + JITTER * random());
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (0.5 + 0.5 * random());
}

/** Time until all exhausted limits have quota again. Ignores a limit whose reset time has passed. */
function usedUpFor(limits: RateLimitInfo["limits"]): number | undefined {
  const waits = limits.flatMap(({ remaining, resetAfterMs = 0 }) => {
    return remaining === 0 && resetAfterMs > 0 ? [resetAfterMs] : [];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}
