import type { FastifyReply, FastifyRequest } from "fastify";
import type { CheckResult } from "../../../checks/check.ts";
import type { App } from "../app.ts";
import { principalOf, requireRoom } from "../authorize.ts";
import { answerText, denialCode, denialText } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { idempotencyKeyOf } from "../idempotency.ts";
import { PROBLEM_TYPE, PROBLEMS } from "../problem.ts";
import { sendText } from "../reply.ts";
import type { Calls } from "../request-metrics.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { checkAnswer, checkBody, denials, problems, reset, resetBody } from "../schemas.ts";

const CHECK = "/api/v1/check";

/** The most rules that the response to a reset lists. */
const MOST_NAMED = 1_000;

/** Complete header values, so that nothing is concatenated per response. */
const JSON_TYPE = "application/json; charset=utf-8";
const DENIAL_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;

export function checkRoutes(app: App, { service, selfLimits }: WholeParts, calls: Calls): void {
  const headers = new CheckHeaders();

  const answer = (result: CheckResult, request: FastifyRequest, withLimits: boolean, reply: FastifyReply): void => {
    const fields = headers.write(result);
    const status = result.allowed ? 200 : PROBLEMS[denialCode(result)].status;
    if (result.allowed) sendText(reply, status, JSON_TYPE, fields, answerText(result, withLimits));
    else sendText(reply, status, DENIAL_TYPE, fields, denialText(result, withLimits));
    calls.ended(CHECK, request, status);
  };

  app.post(
    "/check",
    {
      config: { countsItself: true },
      schema: {
        tags: ["checks"],
        summary: "Check a request and charge it if it is allowed",
        body: checkBody,
        response: {
          200: checkAnswer,
          ...problems("malformed_json", "body_too_large", "unsupported_media_type", "idempotency_conflict"),
          ...denials(),
        },
      },
    },
    (request, reply) => {
      const { identifier, dimension, endpoint, cost, timestamp, with_limits } = request.body;
      requireRoom(selfLimits, endpoint, reply);
      const idempotencyKey = idempotencyKeyOf(request);
      const asked = { identifier, dimension, endpoint, cost };
      const result = service.check(
        timestamp === undefined && idempotencyKey === undefined
          ? asked
          : { ...asked, ...(timestamp !== undefined && { timestamp }), ...(idempotencyKey && { idempotencyKey }) },
      );
      if (!(result instanceof Promise)) return answer(result, request, with_limits, reply);
      return result.then((result) => answer(result, request, with_limits, reply));
    },
  );

  app.post(
    "/reset",
    {
      schema: {
        tags: ["checks"],
        summary: "Reset the usage of an identity",
        body: resetBody,
        response: {
          200: reset,
          ...problems(
            "malformed_json",
            "body_too_large",
            "unsupported_media_type",
            "idempotency_in_progress",
            "idempotency_conflict",
            "store_unavailable",
            "database_unavailable",
          ),
        },
      },
    },
    async (request) => {
      const { endpoint, ...identity } = request.body;
      const done = await service.reset(
        { ...identity, ...(endpoint === undefined ? {} : { endpoint }) },
        principalOf(request),
      );
      const more = done.reset.length - MOST_NAMED;
      return { reset: done.reset.slice(0, MOST_NAMED), ...(more > 0 && { more }) };
    },
  );
}
