import type { Request, Response } from "express";
import { HeadgateError, shown } from "../../errors.ts";
import { aFunction, requireOptions, stated } from "../../options.ts";
import { DEFAULT_NAME, DEFAULT_WINDOW_MS, MemoryStore } from "./compatible-memory-store.ts";
import type {
  AugmentedRequest,
  DraftHeadersVersion,
  GivenOptions,
  Logger,
  Options,
  ValueDeterminingMiddleware,
} from "./compatible-types.ts";
import { defaultIdentifier } from "./headers.ts";
import { DEFAULT_SUBNET, ipKeyGenerator } from "./ip-key.ts";

const KNOWN: ReadonlySet<string> = new Set<keyof Options>([
  "windowMs",
  "limit",
  "max",
  "message",
  "statusCode",
  "handler",
  "legacyHeaders",
  "headers",
  "standardHeaders",
  "identifier",
  "retryAfter",
  "requestPropertyName",
  "skipFailedRequests",
  "skipSuccessfulRequests",
  "requestWasSuccessful",
  "keyGenerator",
  "ipv6Subnet",
  "skip",
  "store",
  "name",
  "passOnStoreError",
  "validate",
  "logger",
]);

export const DRAFTS: readonly unknown[] = ["draft-6", "draft-7", "draft-8"] satisfies DraftHeadersVersion[];
const FUNCTIONS = ["handler", "requestWasSuccessful", "keyGenerator", "skip"] as const;

/** Puts the message first, like express-rate-limit. */
const consoleLogger: Logger = {
  error: (error, message) => console.error(...(message === undefined ? [error] : [message, error])),
  warn: (error, message) => console.warn(...(message === undefined ? [error] : [message, error])),
};

/**
 * The options with their defaults. Unknown options, which express-rate-limit only logs, are rejected. An unsupported
 * draft or subnet is ignored, and `Warnings` logs it.
 */
export function requireConfig(given: GivenOptions): Options {
  requireOptions(given, KNOWN);
  const own = stated(given) as Partial<Options>;
  const config: Options = {
    windowMs: DEFAULT_WINDOW_MS,
    limit: own.max ?? 5,
    message: "Too many requests, please try again later.",
    statusCode: 429,
    legacyHeaders: own.headers ?? true,
    identifier(request) {
      const { limit } = (request as AugmentedRequest)[config.requestPropertyName];
      return defaultIdentifier(limit, config.windowMs);
    },
    requestPropertyName: "rateLimit",
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, response) => response.statusCode < 400,
    keyGenerator: (request, response) => addressKey(config, request, response),
    skip: () => false,
    async handler(request, response) {
      response.status(config.statusCode);
      const message = await evaluated(config.message, request, response);
      if (!response.writableEnded) response.send(message);
    },
    store: own.store ?? new MemoryStore(),
    name: DEFAULT_NAME,
    passOnStoreError: false,
    validate: true,
    logger: consoleLogger,
    ...own,
    standardHeaders: draftOf(own.standardHeaders),
    ipv6Subnet: typeof own.ipv6Subnet === "function" || isSubnet(own.ipv6Subnet) ? own.ipv6Subnet : DEFAULT_SUBNET,
  };
  requireValid(config);
  return config;
}

/** Evaluates an option that may be a function of the request. */
export function evaluated<Value>(
  value: Value | ValueDeterminingMiddleware<Value>,
  request: Request,
  response: Response,
): Value | Promise<Value> {
  return typeof value === "function" ? (value as ValueDeterminingMiddleware<Value>)(request, response) : value;
}

/** The default key: the address. Clients without one share a quota instead of being unlimited. */
export async function addressKey(
  { ipv6Subnet }: Pick<Options, "ipv6Subnet">,
  request: Request,
  response: Response,
): Promise<string> {
  const subnet = await evaluated(ipv6Subnet, request, response);
  if (!isSubnet(subnet)) reject("ipv6Subnet", "a function that returns false or a whole number from 1 to 128", subnet);
  return request.ip === undefined ? "unknown" : ipKeyGenerator(request.ip, subnet);
}

/** Rejects NaN, which would compare as never reached. */
export function requireLimit(limit: unknown): asserts limit is number {
  if (typeof limit !== "number" || Number.isNaN(limit))
    reject("limit", "a number, or a function that returns one", limit);
}

function requireValid(config: Options): void {
  const { windowMs, limit, store, name, logger } = config;
  if (typeof windowMs !== "number" || !(windowMs > 0)) reject("windowMs", "a number of milliseconds over 0", windowMs);
  if (typeof limit !== "function") requireLimit(limit);
  if (typeof store !== "object" || store === null) reject("store", "a store", store);
  if (typeof name !== "string" || name === "") reject("name", "a non-empty string", name);
  if (typeof logger?.error !== "function" || typeof logger.warn !== "function") {
    reject("logger", "an object with the methods error and warn", logger);
  }
  for (const field of FUNCTIONS) aFunction(config[field], field);
}

function draftOf(standardHeaders: unknown): DraftHeadersVersion | false {
  if (standardHeaders === true) return "draft-6";
  return DRAFTS.includes(standardHeaders) ? (standardHeaders as DraftHeadersVersion) : false;
}

function isSubnet(subnet: unknown): subnet is number | false {
  if (subnet === false) return true;
  return typeof subnet === "number" && Number.isInteger(subnet) && subnet >= 1 && subnet <= 128;
}

function reject(field: string, what: string, got: unknown): never {
  throw new HeadgateError("HG_BAD_OPTION", field, `must be ${what}, got ${shown(got)}`);
}
