import type { FastifyError, FastifyRequest } from "fastify";
import { HeadgateError, StoreError } from "headgate";
import { DatabaseError } from "../../database/database-error.ts";
import { fieldProblem, Problem, type ProblemCode } from "./problem.ts";

/** When to retry while the database or the store is down: the node probes both all the time. */
const RETRY = { headers: { "retry-after": "1" } };

/** Errors that fastify raises itself. */
const FASTIFY: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_TYPE: "unsupported_media_type",
  FST_ERR_CTP_BODY_TOO_LARGE: "body_too_large",
  FST_ERR_CTP_INVALID_JSON_BODY: "malformed_json",
  FST_ERR_CTP_EMPTY_JSON_BODY: "malformed_json",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "malformed_request",
  FST_ERR_BAD_URL: "malformed_request",
  FST_ERR_MAX_PARAM_LENGTH: "uri_too_long",
};

/** Errors of reservations. */
const RESERVATIONS: Readonly<Record<string, ProblemCode>> = {
  HG_UNKNOWN_RESERVATION: "reservation_not_found",
  HG_RESERVATION_SETTLED: "reservation_settled",
  HG_RESERVATION_LOST: "reservation_lost",
};

/** The problem to return for an error; undefined if the error is a bug of ours. */
export function problemOf(error: FastifyError | Error, { method }: FastifyRequest): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof DatabaseError)
    return new Problem("database_unavailable", error.message, { ...RETRY, cause: error.code });
  if (error instanceof StoreError)
    return new Problem("store_unavailable", error.message, { ...RETRY, cause: error.code });
  if (error instanceof HeadgateError && error.code === "HG_IDEMPOTENCY_CONFLICT")
    return new Problem("idempotency_conflict");
  if (error instanceof HeadgateError && Object.hasOwn(RESERVATIONS, error.code))
    return new Problem(RESERVATIONS[error.code], error.message);
  if (error instanceof HeadgateError)
    return fieldProblem(method === "GET" ? "query" : "body", error.field, error.problem);
  if ("code" in error && Object.hasOwn(FASTIFY, error.code)) return new Problem(FASTIFY[error.code]);
  if ("statusCode" in error && error.statusCode === 400) return new Problem("malformed_json");
  return undefined;
}

/** Only the log has the text of an internal error, which may contain private data. */
export function internalProblem(request: FastifyRequest): Problem {
  return new Problem("internal_error", undefined, { instance: request.id });
}
