import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { Store as HeadgateStore } from "../../stores/store.ts";

/** What a function of the request says, at once or by a promise. */
export type ValueDeterminingMiddleware<Value> = (request: Request, response: Response) => Value | Promise<Value>;

/** How a key stands: requests so far, and when they are forgotten. */
export interface ClientRateLimitInfo {
  totalHits: number;
  resetTime: Date | undefined;
}

/** What a store answers when it has counted a request. */
export type IncrementResponse = ClientRateLimitInfo;

/** A store as express-rate-limit has them. */
export interface Store {
  /** Called with the options, by whichever package calls it. */
  init?: (options: never) => void | Promise<void>;
  get?: (key: string) => ClientRateLimitInfo | undefined | Promise<ClientRateLimitInfo | undefined>;
  increment: (key: string) => IncrementResponse | Promise<IncrementResponse>;
  decrement: (key: string) => void | Promise<void>;
  resetKey: (key: string) => void | Promise<void>;
  resetAll?: () => void | Promise<void>;
  shutdown?: () => void | Promise<void>;
  /** Whether no other instance sees the keys of this one. */
  localKeys?: boolean;
  prefix?: string;
}

/** How a store of express-rate-limit 5 and before answers. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void;

/** A store of express-rate-limit 5 and before. */
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

/** What is found at `request.rateLimit`. */
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

/** For those who import it; no option takes one since express-rate-limit 7. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void;

export type DraftHeadersVersion = "draft-6" | "draft-7" | "draft-8";

/** Which warnings to give, by their names; `default` is for those that are not named. */
export type EnabledValidations = Readonly<Record<string, boolean>>;

/** The options of express-rate-limit, and `name`. */
export interface Options {
  /** How long a window is. Default a minute. */
  windowMs: number;
  /** How many requests pass in a window. Default 5. */
  limit: number | ValueDeterminingMiddleware<number>;
  /** The older name of `limit`. */
  max?: number | ValueDeterminingMiddleware<number>;
  /** The body for those who are refused. */
  message: string | object | ValueDeterminingMiddleware<unknown>;
  /** The status for those who are refused. Default 429. */
  statusCode: number;
  /** Answers those who are refused, in the place of `message` and `statusCode`. */
  handler: RateLimitExceededEventHandler;
  /** Whether to send `X-RateLimit-*`. Default true. */
  legacyHeaders: boolean;
  /** The older name of `legacyHeaders`. */
  headers?: boolean;
  /** Which draft of the `RateLimit` headers to send; true is draft 6. Default none. */
  standardHeaders: boolean | DraftHeadersVersion;
  /** The name of the limit in the headers of draft 8. Default `5-in-1min`, say. */
  identifier: string | ValueDeterminingMiddleware<string>;
  /** What `Retry-After` says, in seconds. Default: until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>;
  /** Where the request tells how it stands. Default `rateLimit`. */
  requestPropertyName: string;
  /** Whether requests that fail are given back. Default false. */
  skipFailedRequests: boolean;
  /** Whether requests that succeed are given back. Default false. */
  skipSuccessfulRequests: boolean;
  /** Which requests have succeeded. Default: those with a status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>;
  /** Who asks. Default: the address, by `ipv6Subnet`; also where the function says nothing. */
  keyGenerator: ValueDeterminingMiddleware<string | undefined>;
  /** How many bits of an IPv6 address stand for one client; false for all. Default 56. */
  ipv6Subnet: number | false | ValueDeterminingMiddleware<number | false>;
  /** Which requests are not limited, nor counted. */
  skip: ValueDeterminingMiddleware<boolean>;
  /** A store of Headgate's, or of express-rate-limit's. Default: this process's memory. */
  store: HeadgateStore | Store | LegacyStore;
  /** What the requests are counted under in a store of Headgate's. Those that share one need different names. */
  name: string;
  /** Whether requests pass while the store fails. Default false: they go to the error handler. */
  passOnStoreError: boolean;
  /** Which warnings to give. Default true: all. */
  validate: boolean | EnabledValidations;
  /** Where warnings go. Default: the console. */
  logger: Logger;
}

/** The options as programs give them: those that are left out, or `undefined`, have their defaults. */
export type GivenOptions = { readonly [Name in keyof Options]?: Options[Name] | undefined };

export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets the requests of a key. */
  resetKey: (key: string) => void | Promise<void>;
  /** How a key stands; nothing if it is not known. */
  getKey: (key: string) => ClientRateLimitInfo | undefined | Promise<ClientRateLimitInfo | undefined>;
};
