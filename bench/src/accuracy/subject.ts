/** The limit of every subject: 100 requests of one key in 10 seconds. */
export const LIMIT = 100;
export const WINDOW_MS = 10_000;
export const KEY = "one-key";

/** Where a subject counts, as plain data. */
export interface Place {
  readonly redisUrl: string;
  /** An HTTP gateway to the same Redis, for clients that speak the REST API of Upstash. */
  readonly gatewayUrl: string;
  /** How many processes share the limit. */
  readonly processes: number;
}

/** A limiter in one process. */
export interface Subject {
  /** Whether a request is admitted. Rejects if the limiter reports an error instead of deciding. */
  check(): Promise<boolean>;
}
