import { parseRateLimitHeaders, type RateLimitInfo } from "../middleware/headers/parse-headers.ts";
import { type FetchOptions, readFetchOptions } from "./fetch-options.ts";
import { Pace } from "./pace.ts";
import { isDenial, maySendAgain, Outgoing, waitBefore } from "./retry.ts";

/** Maximum number of servers to track. Beyond it, the oldest is dropped. */
const MOST_GROUPS = 1_000;

/**
 * Creates a `fetch` that follows the rate limits a server reports, in any format: it slows down before a limit is
 * exhausted, and retries denied requests when the server asks. If the retries or `maxWaitMs` are used up, the denied
 * response is returned; it never throws because of a limit.
 */
export function pacedFetch(options: FetchOptions = {}): typeof fetch {
  const {
    fetch: send,
    maxRetries,
    maxWaitMs,
    pace: paces,
    groupOf,
    onRetry,
    clock,
    random,
  } = readFetchOptions(options);
  const groups = new Map<string, Pace>();

  const paceOf = (url: string): Pace => {
    const group = groupOf(url);
    const known = groups.get(group);
    if (known !== undefined) return known;
    if (groups.size >= MOST_GROUPS) {
      const [oldest] = groups.keys();
      groups.delete(oldest);
    }
    const pace = new Pace(clock);
    groups.set(group, pace);
    return pace;
  };

  return async (input, init) => {
    const outgoing = new Outgoing(input, init);
    const { url, signal } = outgoing;
    const pace = paces ? paceOf(url) : undefined;
    const deadline = clock.now() + maxWaitMs * 1000;
    const leftMs = (): number => (deadline - clock.now()) / 1000;
    for (let attempt = 1; ; attempt += 1) {
      await pace?.turn(leftMs(), signal);
      const { response, info, denied } = await respond(outgoing, pace);
      if (!denied || attempt > maxRetries || !maySendAgain(outgoing, response.status)) return response;
      const waitMs = waitBefore(attempt, info, random);
      if (waitMs > leftMs()) return response;
      // Releases the connection.
      await response.body?.cancel();
      onRetry({ url, status: response.status, attempt, waitMs });
      await clock.sleep(waitMs, signal);
    }
  };

  async function respond(outgoing: Outgoing, pace: Pace | undefined): Promise<Responded> {
    try {
      const response = await send(...outgoing.copy());
      const info = parseRateLimitHeaders(response.headers, clock.now() / 1000);
      const denied = isDenial(response.status, info);
      pace?.done(info, denied);
      return { response, info, denied };
    } catch (error) {
      pace?.done(undefined);
      throw error;
    }
  }
}

interface Responded {
  readonly response: Response;
  readonly info: RateLimitInfo;
  readonly denied: boolean;
}
