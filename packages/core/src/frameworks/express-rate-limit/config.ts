import type { Request, Response } from "express";
import { HeadgateError, shown } from "../../errors.ts";
import { requireFunction } from "../../http/gate-options.ts";
import { requireOptions } from "../../options.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { defaultIdentifier } from "./headers.ts";
import { DEFAULT_SUBNET, ipKeyGenerator } from "./ip-key.ts";
import type { AugmentedRequest, Options, ValueDeterminingMiddleware } from "./types.ts";

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

const DRAFTS: readonly unknown[] = [false, "draft-6", "draft-7", "draft-8"];
const FUNCTIONS = ["handler", "requestWasSuccessful", "keyGenerator", "skip"] as const;

/** The options with their defaults. What express-rate-limit only logs, such as an unknown option, is refused. */
export function requireConfig(given: Partial<Options>): Options {
  requireOptions(given, KNOWN);
  const stated: Partial<Options> = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const config: Options = {
    windowMs: 60_000,
    limit: stated.max ?? 5,
    message: "Too many requests, please try again later.",
    statusCode: 429,
    legacyHeaders: stated.headers ?? true,
    identifier(request) {
      const { limit } = (request as AugmentedRequest)[config.requestPropertyName];
      return defaultIdentifier(limit, config.windowMs);
    },
    requestPropertyName: "rateLimit",
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, response) => response.statusCode < 400,
    keyGenerator: (request, response) => addressKey(config, request, response),
    ipv6Subnet: DEFAULT_SUBNET,
    skip: () => false,
    async handler(request, response) {
      response.status(config.statusCode);
      const message = await told(config.message, request, response);
      if (!response.writableEnded) response.send(message);
    },
    store: stated.store ?? new MemoryStore(),
    name: "express-rate-limit",
    passOnStoreError: false,
    validate: true,
    logger: console,
    ...stated,
    standardHeaders: stated.standardHeaders === true ? "draft-6" : (stated.standardHeaders ?? false),
  };
  requireValid(config);
  return config;
}

/** What an option says, which may be a function of the request. */
export function told<Value>(
  value: Value | ValueDeterminingMiddleware<Value>,
  request: Request,
  response: Response,
): Value | Promise<Value> {
  return typeof value === "function" ? (value as ValueDeterminingMiddleware<Value>)(request, response) : value;
}

/** The key of a request that has no other: its address. Those without one share a quota, rather than have none. */
export async function addressKey(
  { ipv6Subnet }: Pick<Options, "ipv6Subnet">,
  request: Request,
  response: Response,
): Promise<string> {
  const subnet = await told(ipv6Subnet, request, response);
  requireSubnet(subnet);
  return request.ip === undefined ? "unknown" : ipKeyGenerator(request.ip, subnet);
}

/** A number, so that there is something to compare with: whatever is compared with NaN would pass. */
export function requireLimit(limit: unknown): asserts limit is number {
  if (typeof limit !== "number" || Number.isNaN(limit))
    refuse("limit", "a number, or a function that tells one", limit);
}

function requireValid(config: Options): void {
  const { windowMs, limit, standardHeaders, ipv6Subnet, store, name, logger } = config;
  if (typeof windowMs !== "number" || !(windowMs > 0)) refuse("windowMs", "a number of milliseconds over 0", windowMs);
  if (typeof limit !== "function") requireLimit(limit);
  if (typeof ipv6Subnet !== "function") requireSubnet(ipv6Subnet);
  if (!DRAFTS.includes(standardHeaders))
    refuse("standardHeaders", `true or among ${DRAFTS.join(", ")}`, standardHeaders);
  if (typeof store !== "object" || store === null) refuse("store", "a store", store);
  if (typeof name !== "string" || name === "") refuse("name", "a string and not empty", name);
  if (typeof logger?.error !== "function" || typeof logger.warn !== "function") {
    refuse("logger", "an object with the methods error and warn", logger);
  }
  for (const field of FUNCTIONS) requireFunction(config[field], field);
}

function requireSubnet(subnet: unknown): asserts subnet is number | false {
  if (subnet !== false && !(typeof subnet === "number" && Number.isInteger(subnet) && subnet >= 1 && subnet <= 128)) {
    refuse("ipv6Subnet", "false or a whole number from 1 to 128", subnet);
  }
}

function refuse(field: string, what: string, got: unknown): never {
  throw new HeadgateError("HG_BAD_OPTION", field, `must be ${what}, got ${shown(got)}`);
}
