import type { NextFunction, Request, Response } from "express";
import { HeadgateError, shown } from "../errors.ts";
import { failureOf } from "../stores/resilient/failure.ts";
import { addressKey, requireConfig, requireLimit, told } from "./express-rate-limit/config.ts";
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
import type { AugmentedRequest, Options, RateLimitInfo, RateLimitRequestHandler } from "./express-rate-limit/types.ts";
import { Warnings } from "./express-rate-limit/warnings.ts";

export { MemoryStore } from "../stores/memory/memory-store.ts";
export { HeadgateStore, type HeadgateStoreOptions } from "./express-rate-limit/headgate-store.ts";
export { ipKeyGenerator } from "./express-rate-limit/ip-key.ts";
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  LegacyStore,
  Logger,
  Options,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitRequestHandler,
  Store,
  ValueDeterminingMiddleware,
} from "./express-rate-limit/types.ts";

/** Middleware for Express with the options of express-rate-limit, decided by Headgate. */
export function rateLimit(given: Partial<Options> = {}): RateLimitRequestHandler {
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

  const tell = async (info: RateLimitInfo, request: Request, response: Response): Promise<void> => {
    if (response.headersSent) return;
    if (legacyHeaders) setLegacyHeaders(response, info);
    if (standardHeaders === "draft-6") setDraft6Headers(response, info, windowMs);
    if (standardHeaders === "draft-7") setDraft7Headers(response, info, windowMs);
    if (standardHeaders === "draft-8") {
      setDraft8Headers(response, info, windowMs, await told(config.identifier, request, response));
    }
  };

  const refuse = async (
    info: RateLimitInfo,
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> => {
    if ((legacyHeaders || standardHeaders) && !response.headersSent) {
      const retryAfter = await told(config.retryAfter, request, response);
      response.setHeader("Retry-After", String(retryAfter ?? resetSeconds(info, windowMs)));
    }
    await config.handler(request, response, next, config);
  };

  /** Gives the request back if it turns out to be one that does not count. */
  const settle = async (info: RateLimitInfo, request: Request, response: Response): Promise<void> => {
    try {
      const failed = !response.writableEnded || !(await config.requestWasSuccessful(request, response));
      if (!(failed ? config.skipFailedRequests : config.skipSuccessfulRequests)) return;
      // What its window has forgotten must not be taken from the next one.
      if (info.resetTime !== undefined && Date.now() >= info.resetTime.getTime()) return;
      await counter.undo(info.key, info.limit);
    } catch (error) {
      logger.error(error, "headgate/express-rate-limit: a request could not be given back");
    }
  };

  const decide = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (await config.skip(request, response)) return next();
    const key = await keyOf(request, response);
    const most = await told(limit, request, response);
    requireLimit(most);
    let hit: Hit;
    try {
      hit = await counter.hit(key, most);
    } catch (error) {
      if (!config.passOnStoreError || failureOf(error) === undefined) throw error;
      logger.error(error, "headgate/express-rate-limit: the store failed, and a request passes unlimited");
      return next();
    }
    const info = infoOf(key, most, hit);
    (request as AugmentedRequest)[requestPropertyName] = info;
    await tell(info, request, response);
    if (givesBack && hit.charged) whenClosed(response, () => settle(info, request, response));
    if (hit.totalHits > most) await refuse(info, request, response, next);
    else next();
  };

  return Object.assign(
    (request: Request, response: Response, next: NextFunction): void => {
      decide(request, response, next).catch(next);
    },
    { resetKey: (key: string) => counter.reset(key), getKey: (key: string) => counter.get(key) },
  );
}

/** @alias rateLimit: many import it by default. */
export default rateLimit;

/** The names that are taken in each store of Headgate's. */
const names = new WeakMap<object, Set<string>>();

function counterOf(config: Options): Counter {
  const { store, name, windowMs, limit, logger } = config;
  if (isHeadgateStore(store)) {
    const taken = names.get(store) ?? new Set();
    if (taken.has(name)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "name",
        `${shown(name)} is taken in this store: give each limit its own`,
      );
    }
    names.set(store, taken.add(name));
    return new WindowCounter(store, name, windowMs, typeof limit === "number" ? limit : ENDLESS);
  }
  const counter = new StoreCounter(requireStore(store));
  const started = async (): Promise<void> => counter.init(config);
  started().catch((error: unknown) => logger.error(error, "headgate/express-rate-limit: init of the store failed"));
  return counter;
}

function infoOf(key: string, limit: number, { totalHits, resetTime }: Hit): RateLimitInfo {
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key };
  // What version 6 called it.
  return Object.defineProperty(info, "current", { value: totalHits });
}

function whenClosed(response: Response, act: () => Promise<void>): void {
  if (response.destroyed) void act();
  else response.once("close", () => void act());
}

function requireString(key: unknown): string {
  if (typeof key === "string") return key;
  throw new HeadgateError(
    "HG_BAD_KEY",
    "keyGenerator",
    `must tell a string that says who is asking, got ${shown(key)}`,
  );
}
