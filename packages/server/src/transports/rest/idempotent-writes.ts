import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "headgate/http";
import type { AnsweredTable } from "../../database/database.ts";
import { inTurns, type Work } from "../../rules/cooperative-work.ts";
import { toJsonParts } from "../../rules/json-chunks.ts";
import type { Log } from "../../runtime/log.ts";
import { listed, permissionOf, principalOf } from "./authorize.ts";
import { fieldProblem, Problem } from "./problem.ts";

/** The headers that a replay repeats, in addition to status and body. */
const KEPT_HEADERS = ["content-type", "etag", "location"] as const;

/** The idempotency key of a request. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["x-idempotency-key"];
  if (key === undefined) return undefined;
  if (isIdempotencyKey(key)) return key;
  throw fieldProblem("header", "X-Idempotency-Key", `must be ${IDEMPOTENCY_KEY_FORM}`);
}

interface IdempotencyOptions {
  readonly answered: AnsweredTable;
  readonly now: () => number;
  readonly log: Pick<Log, "error" | "warn"> | undefined;
}

/**
 * Makes all changes safe to retry: the first response under a key is stored for five minutes. A failed change has no
 * effect and is not stored, so it can be retried under the same key.
 */
export function rememberWrites(app: FastifyInstance, options: IdempotencyOptions): void {
  const memory = new Answers(options);
  app.addHook("onRoute", (route) => {
    if (permissionOf(route) !== "write") return;
    if (route.config?.answersWithSecret === true) route.preHandler = [rejectKey, ...listed(route.preHandler)];
    else {
      route.preHandler = [memory.claim, ...listed(route.preHandler)];
      route.onSend = [...listed(route.onSend), memory.keep];
    }
  });
}

async function rejectKey(request: FastifyRequest): Promise<void> {
  if (idempotencyKeyOf(request) !== undefined) throw new Problem("idempotency_not_possible");
}

class Answers {
  private readonly answered: AnsweredTable;
  private readonly now: () => number;
  private readonly log: Pick<Log, "error" | "warn"> | undefined;
  private readonly claims = new WeakMap<FastifyRequest, string>();

  constructor({ answered, now, log }: IdempotencyOptions) {
    this.answered = answered;
    this.now = now;
    this.log = log;
  }

  /** Before a change: replays the response if the change was already made. */
  readonly claim = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const given = idempotencyKeyOf(request);
    if (given === undefined) return undefined;
    // Each API key has its own idempotency keys.
    const key = `${principalOf(request).id}:${given}`;
    const fingerprint = await inTurns(fingerprintOf(request));
    const before = await this.answered.claim(key, fingerprint, new Date(this.now()));
    if (before === undefined) {
      this.claims.set(request, key);
      return undefined;
    }
    if (before.fingerprint !== fingerprint) throw new Problem("idempotency_conflict");
    if (before.response === undefined)
      throw new Problem("idempotency_in_progress", undefined, { headers: { "retry-after": "1" } });
    const { status, body, headers } = before.response;
    reply.code(status).headers(headers).header("idempotency-replayed", "true");
    return reply.send(body === "" ? undefined : body);
  };

  /** After a change, before its response is sent. */
  readonly keep = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> => {
    const key = this.claims.get(request);
    if (key === undefined) return;
    this.claims.delete(request);
    try {
      if (reply.statusCode < 400) {
        await this.answered.finish(
          key,
          reply.statusCode,
          typeof payload === "string" ? payload : "",
          keptHeaders(reply),
        );
      } else await this.answered.release(key);
    } catch (error) {
      // The change was made or has failed regardless. Its key counts as in progress until it expires.
      this.log?.warn({ err: error }, "could not store the response under its idempotency key");
    }
  };
}

function keptHeaders(reply: FastifyReply): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = reply.getHeader(name);
    if (value !== undefined) kept[name] = String(value);
  }
  return kept;
}

/** A hash of the request. Done in turns, since a list of rules may be long. */
function* fingerprintOf({ method, url, headers, body }: FastifyRequest): Work<string> {
  const rules = rulesIn(body);
  const request = [method, url, headers["if-match"] ?? null, rules === undefined ? (body ?? null) : null];
  const hash = createHash("sha256").update(JSON.stringify(request));
  for (const part of rules === undefined ? [] : yield* toJsonParts(rules)) {
    hash.update(part);
    yield;
  }
  return hash.digest("hex");
}

function rulesIn(body: unknown): readonly unknown[] | undefined {
  if (typeof body !== "object" || body === null || !("rules" in body)) return undefined;
  return Array.isArray(body.rules) ? body.rules : undefined;
}
