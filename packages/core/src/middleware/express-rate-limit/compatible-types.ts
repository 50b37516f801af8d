import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { Store as HeadgateStore } from "../../stores/store.ts";

/** A function of the request that returns a value or a promise. */
export type ValueDeterminingMiddleware<Value> = (request: Request, response: Response) => Value | Promise<Value>;

/** The state of a key: number of requests, and when they are forgotten. */
export interface ClientRateLimitInfo {
  totalHits: number;
  resetTime: Date | undefined;
}

/** The result of counting a request. */
export type IncrementResponse = ClientRateLimitInfo;

/** A store of express-rate-limit. */
export interface Store {
  /** Called with the options. */
  init?: (options: never) => void | Promise<void>;
  get?: (key: string) => ClientRateLimitInfo | undefined | Promise<ClientRateLimitInfo | undefined>;
  increment: (key: string) => IncrementResponse | Promise<IncrementResponse>;
  decrement: (key: string) => void | Promise<void>;
  resetKey: (key: string) => void | Promise<void>;
  resetAll?: () => void | Promise<void>;
  shutdown?: () => void | Promise<void>;
  /** Whether the keys are local to this instance. */
  localKeys?: boolean;
  prefix?: string;
}

/** Callback of stores of express-rate-limit 5 and earlier. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void;

/** A store of express-rate-limit 5 and earlier. */
export interface LegacyStore {
  incr: (key: string, callback: IncrementCallback) => void;
  decrement: (key: string) => void;
  resetKey: (key: string) => void;
  resetAll?: () => void;
}

export type LoggerFn = (error: unknown, message?: string) => void;

export interface Logger {
  error: LoggerFn;
  warn: LoggerFn;
}

/** The value of `request.rateLimit`. */
export interface RateLimitInfo {
  limit: number;
  used: number;
  remaining: number;
  resetTime: Date | undefined;
  key: string;
}

export type AugmentedRequest = Request & { [property: string]: RateLimitInfo };

export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => unknown;

/** Only for imports; no option takes one since express-rate-limit 7. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void;

export type DraftHeadersVersion = "draft-6" | "draft-7" | "draft-8";

/** Which warnings to emit, by name; `default` applies to the others. */
export type EnabledValidations = Readonly<Record<string, boolean>>;

/** The options of express-rate-limit, and `name`. */
export interface Options {
  /** Length of a window in milliseconds. Default: one minute. */
  windowMs: number;
  /** Requests per window. Default 5. */
  limit: number | ValueDeterminingMiddleware<number>;
  /** Former name of `limit`. */
  max?: number | ValueDeterminingMiddleware<number>;
  /** Body of the response to a denied request. */
  message: string | object | ValueDeterminingMiddleware<unknown>;
  /** Status of the response to a denied request. Default 429. */
  statusCode: number;
  /** Sends the response to a denied request, instead of `message` and `statusCode`. */
  handler: RateLimitExceededEventHandler;
  /** Send `X-RateLimit-*` headers. Default true. */
  legacyHeaders: boolean;
  /** Former name of `legacyHeaders`. */
  headers?: boolean;
  /** Draft of the `RateLimit` headers to send; true means draft 6. Default: none. */
  standardHeaders: boolean | DraftHeadersVersion;
  /** Name of the limit in the headers of draft 8. Default: generated, such as `5-in-1min`. */
  identifier: string | ValueDeterminingMiddleware<string>;
  /** Value of `Retry-After` in seconds. Default: until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>;
  /** Property of the request with the rate limit info. Default `rateLimit`. */
  requestPropertyName: string;
  /** Refund failed requests. Default false. */
  skipFailedRequests: boolean;
  /** Refund successful requests. Default false. */
  skipSuccessfulRequests: boolean;
  /** Whether a request was successful. Default: status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>;
  /** Returns the key of the client. Default, and if it returns nothing: the address, grouped by `ipv6Subnet`. */
  keyGenerator: ValueDeterminingMiddleware<string | undefined>;
  /** Leading bits of an IPv6 address that identify a client; false for the whole address. Default 56. */
  ipv6Subnet: number | false | ValueDeterminingMiddleware<number | false>;
  /** Requests for which this returns true are neither limited nor counted. */
  skip: ValueDeterminingMiddleware<boolean>;
  /** A store of Headgate or of express-rate-limit. Default: memory. */
  store: HeadgateStore | Store | LegacyStore;
  /** Name under which requests are counted in a Headgate store. Limits that share a store need different names. */
  name: string;
  /** Let requests pass while the store fails. Default false: they go to the error handler. */
  passOnStoreError: boolean;
  /** Which warnings to emit. Default: all. */
  validate: boolean | EnabledValidations;
  /** Where warnings go. Default: the console. */
  logger: Logger;
}

/** The options of a limiter. Missing options have their defaults. */
export type GivenOptions = { readonly [Name in keyof Options]?: Options[Name] | undefined };

export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets the requests of a key. */
  resetKey: (key: string) => void | Promise<void>;
  /** The state of a key; undefined if it is not known. */
  getKey: (key: string) => ClientRateLimitInfo | undefined | Promise<ClientRateLimitInfo | undefined>;
};
