import { addressText, IDEMPOTENCY_KEY_FORM, isIdempotencyKey, parseAddress } from "headgate/http";
import { MOST_ENDPOINT_PARTS, requireReadable } from "../rules/endpoint.ts";
import { isMethod, METHOD_FORM } from "../rules/methods.ts";
import { DIMENSIONS } from "../rules/rule.ts";
import type { CheckRequest, Identity } from "./check.ts";
import { RequestError } from "./request-error.ts";

const LONGEST_IDENTIFIER = 1_024;
const LONGEST_ENDPOINT = 8_192;
/** As in the middleware: an IPv6 client controls the whole prefix. */
const IPV6_PREFIX = 64;

/** Rejects invalid requests. `keyOf` validates the identity. */
export function requireRequest({ endpoint, method, cost, timestamp, idempotencyKey }: CheckRequest): void {
  requireEndpoint(endpoint);
  if (method !== undefined && !isMethod(method)) throw new RequestError("method", `must be ${METHOD_FORM}`);
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw new RequestError("cost", `must be a whole number from 0 to 2^53 - 1, got ${cost}`);
  }
  if (timestamp !== undefined && !Number.isFinite(timestamp)) {
    throw new RequestError("timestamp", "must be the client's time in milliseconds since 1970");
  }
  if (idempotencyKey !== undefined) requireIdempotencyKey(idempotencyKey);
}

export function requireIdempotencyKey(key: string): void {
  if (!isIdempotencyKey(key)) throw new RequestError("idempotency_key", `must be ${IDEMPOTENCY_KEY_FORM}`);
}

export function requireEndpoint(endpoint: unknown): void {
  if (typeof endpoint !== "string" || endpoint === "") {
    throw new RequestError("endpoint", "must be a path such as /api/v1/orders");
  }
  if (endpoint.length > LONGEST_ENDPOINT) {
    throw new RequestError("endpoint", `must have at most ${LONGEST_ENDPOINT} characters, got ${endpoint.length}`);
  }
  // Nearly all endpoints are short and need no decoding.
  if (endpoint.length > MOST_ENDPOINT_PARTS || endpoint.includes("%") || endpoint.includes("\0")) {
    requireReadable(endpoint);
  }
}

/** The identity as the key in stores: `user:12345`. All spellings of an address are one key. */
export function keyOf({ identifier, dimension }: Identity): string {
  if (typeof identifier !== "string") throw new RequestError("identifier", "must be a string");
  if (identifier === "") throw new RequestError("identifier", "must not be empty: give the user, address or API key");
  if (identifier.length > LONGEST_IDENTIFIER) {
    throw new RequestError(
      "identifier",
      `must have at most ${LONGEST_IDENTIFIER} characters, got ${identifier.length}`,
    );
  }
  switch (dimension) {
    case "user":
      return `user:${identifier}`;
    case "apikey":
      return `apikey:${identifier}`;
    case "ip":
      return `ip:${addressOf(identifier)}`;
    default:
      throw new RequestError("dimension", `must be one of ${DIMENSIONS.join(", ")}`);
  }
}

function addressOf(identifier: string): string {
  const address = parseAddress(identifier);
  if (address === undefined)
    throw new RequestError("identifier", "must be an IPv4 or IPv6 address when the dimension is ip");
  return addressText(address, IPV6_PREFIX);
}
