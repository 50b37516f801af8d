import type { NextFunction, Request, Response } from "express";
import { HeadgateError, shown } from "../errors.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { MemoryStore } from "./express-rate-limit/compatible-memory-store.ts";
import { addressKey, evaluated, requireConfig, requireLimit } from "./express-rate-limit/compatible-options.ts";
import type {
  AugmentedRequest,
  GivenOptions,
  Options,
  RateLimitInfo,
  RateLimitRequestHandler,
} from "./express-rate-limit/compatible-types.ts";
import {
  type Counter,
  ENDLESS,
  type Hit,
  isHeadgateStore,
  requireStore,
  StoreCounter,
  WindowCounter,
} from "./express-rate-limit/counter.ts";
import {
  resetSeconds,
  setDraft6Headers,
  setDraft7Headers,
  setDraft8Headers,
  setLegacyHeaders,
} from "./express-rate-limit/headers.ts";
import { Warnings } from "./express-rate-limit/warnings.ts";

export { MemoryStore } from "./express-rate-limit/compatible-memory-store.ts";
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  EnabledValidations,
  IncrementCallback,
  IncrementResponse,
  LegacyStore,
  Logger,
  LoggerFn,
  Options,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitReachedEventHandler,
  RateLimitRequestHandler,
  Store,
  ValueDeterminingMiddleware,
} from "./express-rate-limit/compatible-types.ts";
export { HeadgateStore, type HeadgateStoreOptions } from "./express-rate-limit/headgate-store.ts";
export { ipKeyGenerator } from "./express-rate-limit/ip-key.ts";

/** Lengths of windows in milliseconds, for `windowMs`. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Middleware for Express with the options of express-rate-limit, decided by Headgate. */
export function rateLimit(given: GivenOptions = {}): RateLimitRequestHandler {
  const config = requireConfig(given);
  const { windowMs, limit, standardHeaders, legacyHeaders, requestPropertyName, logger } = config;
  const warnings = new Warnings(given, logger);
  const counter = counterOf(config);
  const givesBack = config.skipFailedRequests || config.skipSuccessfulRequests;

  const keyOf = async (request: Request, response: Response): Promise<string> => {
    if (given.keyGenerator !== undefined) {
      const key: unknown = await given.keyGenerator(request, response);
      if (typeof key === "number") return String(key);
      if (key !== undefined && key !== null && key !== "") return requireString(key);
    }
    warnings.look(request);
    return addressKey(config, request, response);
  };

  const report = async (info: RateLimitInfo, request: Request, response: Response): Promise<void> => {
    if (response.headersSent) return;
    if (legacyHeaders) setLegacyHeaders(response, info);
    if (standardHeaders === "draft-6") setDraft6Headers(response, info, windowMs, counter.now());
    if (standardHeaders === "draft-7") setDraft7Headers(response, info, windowMs, counter.now());
    if (standardHeaders === "draft-8") {
      const name = await evaluated(config.identifier, request, response);
      setDraft8Headers(response, info, windowMs, counter.now(), name);
    }
  };

  const deny = async (info: RateLimitInfo, request: Request, response: Response, next: NextFunction): Promise<void> => {
    if ((legacyHeaders || standardHeaders) && !response.headersSent) {
      const retryAfter = await evaluated(config.retryAfter, request, response);
      response.setHeader("Retry-After", String(retryAfter ?? resetSeconds(info, windowMs, counter.now())));
    }
    await config.handler(request, response, next, config);
  };

  /** Refunds the request if it turns out not to count. */
  const settle = async (info: RateLimitInfo, request: Request, response: Response): Promise<void> => {
    try {
      const failed = !response.writableEnded || !(await config.requestWasSuccessful(request, response));
      if (!(failed ? config.skipFailedRequests : config.skipSuccessfulRequests)) return;
      // A refund after the window has ended would be deducted from the next one.
      if (info.resetTime !== undefined && counter.now() >= info.resetTime.getTime()) return;
      await counter.undo(info.key, info.limit);
    } catch (error) {
      logger.error(error, "headgate/express-rate-limit: a request could not be refunded");
    }
  };

  const decide = async (
    request: Request,
    response: Response,
    next: NextFunction,
    closed: Promise<void> | undefined,
  ): Promise<void> => {
    if (await config.skip(request, response)) return next();
    const key = await keyOf(request, response);
    const most = await evaluated(limit, request, response);
    requireLimit(most);
    let hit: Hit;
    try {
      hit = await counter.hit(key, most);
    } catch (error) {
      if (!config.passOnStoreError || failureOf(error) === undefined) throw error;
      logger.error(error, "express-rate-limit: error from store, allowing request without rate-limiting.");
      return next();
    }
    const info = infoOf(key, most, hit);
    (request as AugmentedRequest)[requestPropertyName] = info;
    await report(info, request, response);
    if (hit.charged) void closed?.then(() => settle(info, request, response));
    if (hit.totalHits > most) await deny(info, request, response, next);
    else next();
  };

  return Object.assign(
    async (request: Request, response: Response, next: NextFunction): Promise<void> => {
      // Before anything is awaited, because the client may disconnect meanwhile.
      const closed = givesBack ? closing(response) : undefined;
      await decide(request, response, next, closed).catch(next);
    },
    { resetKey: (key: string) => counter.reset(key), getKey: (key: string) => counter.get(key) },
  );
}

/** @alias rateLimit, because many programs use the default import. */
export default rateLimit;

/** The names in use, per Headgate store. */
const names = new WeakMap<object, Set<string>>();

function counterOf(config: Options): Counter {
  const { store, name, windowMs, limit, logger } = config;
  if (isHeadgateStore(store) && !isExtended(store)) {
    const taken = names.get(store) ?? new Set();
    if (taken.has(name)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "name",
        `${shown(name)} is already used in this store: give each limit its own name`,
      );
    }
    names.set(store, taken.add(name));
    if (store instanceof MemoryStore) store.init(config);
    return new WindowCounter(store, name, windowMs, typeof limit === "number" ? limit : ENDLESS);
  }
  const counter = new StoreCounter(requireStore(store));
  try {
    counter
      .init(config)
      ?.catch((error: unknown) => logger.error(error, "express-rate-limit: async error during store initialization."));
  } catch (error) {
    logger.error(error, "express-rate-limit: error during store initialization.");
  }
  return counter;
}

/** A subclass may override methods, so it is treated like any store of express-rate-limit. */
function isExtended(store: object): boolean {
  return store instanceof MemoryStore && Object.getPrototypeOf(store) !== MemoryStore.prototype;
}

function infoOf(key: string, limit: number, { totalHits, resetTime }: Hit): RateLimitInfo {
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key };
  // The name in version 6.
  return Object.defineProperty(info, "current", { value: totalHits });
}

function closing(response: Response): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    else response.once("close", resolve);
  });
}

function requireString(key: unknown): string {
  if (typeof key === "string") return key;
  throw new HeadgateError(
    "HG_BAD_KEY",
    "keyGenerator",
    `must return a string that identifies the client, got ${shown(key)}`,
  );
}
