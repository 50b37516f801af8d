import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { preParsingHookHandler } from "fastify";
import type { CheckRequest, CheckResult } from "../../checks/check.ts";
import { DIMENSIONS, type Dimension } from "../../rules/rule.ts";
import type { CheckResponses } from "./check-responses.ts";
import type { WholeParts } from "./rest-dependencies.ts";

const BODY_TYPES: readonly (string | undefined)[] = ["application/json", "application/json; charset=utf-8"];
const LONGEST_BODY = 4_096;
const LONGEST_IDENTIFIER = 1_024;
/** Longer ones count as several checks. */
const LONGEST_ENDPOINT = 256;
const LONGEST_METHOD = 32;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What was found out about a request before it was handed to fastify. */
type Found = { readonly body: Buffer } | { readonly error: Error };

interface PlainCheck {
  readonly request: CheckRequest;
  readonly withLimits: boolean;
}

/**
 * Answers plain checks without fastify, which takes as long as the check itself: a valid body of one identity, sent with
 * a key that was accepted before. All other requests, including those with errors, are handed to fastify, so that there
 * is one implementation of everything but the plain check. A test compares the two.
 */
export class DirectChecks {
  private readonly parts: Pick<WholeParts, "keyRing" | "selfLimits" | "service">;
  private readonly responses: CheckResponses;
  private readonly handedOver = new WeakMap<IncomingMessage, Found>();

  constructor(parts: Pick<WholeParts, "keyRing" | "selfLimits" | "service">, responses: CheckResponses) {
    this.parts = parts;
    this.responses = responses;
  }

  /** A hook of the same route in fastify, where the body of such a request has already been read. */
  readonly resume: preParsingHookHandler = (request, _reply, payload, done) => {
    const found = this.handedOver.get(request.raw);
    if (found === undefined) done(null, payload);
    else if ("error" in found) done(found.error);
    else done(null, Readable.from([found.body]));
  };

  before(fastify: Handler): Handler {
    return (request, response) => {
      if (request.url === "/api/v1/check" && request.method === "POST" && this.isPlain(request)) {
        this.receive(request, response, fastify);
      } else fastify(request, response);
    };
  }

  /** By its headers. Charges the limit on checks. */
  private isPlain({ headers }: IncomingMessage): boolean {
    const { authorization } = headers;
    if (authorization === undefined || !BODY_TYPES.includes(headers["content-type"])) return false;
    if (headers["x-headgate-key"] !== undefined || headers["x-idempotency-key"] !== undefined) return false;
    // Without a length, it is NaN.
    if (!(Number(headers["content-length"]) <= LONGEST_BODY)) return false;
    const { keyRing, selfLimits } = this.parts;
    if (keyRing.recognize(authorization)?.roles.includes("check") !== true) return false;
    return selfLimits.admitChecks(1).allowed;
  }

  private receive(request: IncomingMessage, response: ServerResponse, fastify: Handler): void {
    const arrivedAt = performance.now();
    const handOver = (found: Found): void => {
      this.handedOver.set(request, found);
      // Fastify's guard charges it again.
      this.parts.selfLimits.returnChecks(1);
      fastify(request, response);
    };
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    // Not after the end: Node destroys a request whose body has been read, so a disconnect then is not an error.
    request.on("error", (error) => handOver({ error: Object.assign(error, { statusCode: 400 }) }));
    request.on("end", () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      const check = plainCheckIn(body.toString());
      if (check === undefined) return handOver({ body });
      const answer = (result: CheckResult) => this.responses.write(response, result, check.withLimits, arrivedAt);
      try {
        const result = this.parts.service.check(check.request);
        if (result instanceof Promise)
          result.then(answer).catch((error: unknown) => handOver({ error: asError(error) }));
        else answer(result);
      } catch (error) {
        handOver({ error: asError(error) });
      }
    });
  }
}

/** A valid check of one identity; undefined for any other text, valid or not. */
export function plainCheckIn(text: string): PlainCheck | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isObject(body) ? plainCheckOf(body) : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function plainCheckOf(fields: Readonly<Record<string, unknown>>): PlainCheck | undefined {
  let identifier = "";
  let dimension: Dimension = "user";
  let endpoint = "";
  let method: string | undefined;
  let cost = 1;
  let timestamp: number | undefined;
  let withLimits = false;
  for (const field in fields) {
    const value = fields[field];
    switch (field) {
      case "identifier":
        if (typeof value !== "string" || value.length > LONGEST_IDENTIFIER) return undefined;
        identifier = value;
        break;
      case "dimension":
        if (!isDimension(value)) return undefined;
        dimension = value;
        break;
      case "endpoint":
        if (typeof value !== "string" || value.length > LONGEST_ENDPOINT) return undefined;
        endpoint = value;
        break;
      case "method":
        if (typeof value !== "string" || value === "" || value.length > LONGEST_METHOD) return undefined;
        method = value;
        break;
      case "cost":
        if (!isWhole(value) || value < 0) return undefined;
        cost = value;
        break;
      case "timestamp":
        if (!isWhole(value)) return undefined;
        timestamp = value;
        break;
      case "with_limits":
        if (typeof value !== "boolean") return undefined;
        withLimits = value;
        break;
      default:
        return undefined;
    }
  }
  if (identifier === "" || endpoint === "") return undefined;
  const others = undefined;
  const idempotencyKey = undefined;
  return {
    request: { identifier, dimension, others, endpoint, method, cost, timestamp, idempotencyKey },
    withLimits,
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function isDimension(value: unknown): value is Dimension {
  return DIMENSIONS.some((dimension) => dimension === value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
