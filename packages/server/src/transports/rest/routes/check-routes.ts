import type { FastifyReply, FastifyRequest } from "fastify";
import type { CheckRequest, CheckResult, Correction, Identity } from "../../../checks/check.ts";
import { weightOf } from "../../../checks/check-weight.ts";
import type { Dimension } from "../../../rules/rule.ts";
import { answerOf } from "../../shared/check-fields.ts";
import type { App } from "../app.ts";
import { principalOf, requireRoom } from "../authorize.ts";
import { answerText, denialCode, denialText } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { idempotencyKeyOf } from "../idempotent-writes.ts";
import { PROBLEM_TYPE, PROBLEMS } from "../problem.ts";
import { sendText } from "../reply.ts";
import type { Calls } from "../request-metrics.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { checkAnswer, denials } from "../schemas/check-answer-schemas.ts";
import { checkBody, correctionBody } from "../schemas/check-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { reset, resetBody } from "../schemas/reset-schemas.ts";

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
      const { endpoint, method, cost, timestamp, with_limits } = request.body;
      requireRoom(selfLimits, weightOf(endpoint), reply);
      // Not with a spread, which takes longer than the check.
      const { identifier, dimension, others } = identitiesIn(request.body);
      const idempotencyKey = idempotencyKeyOf(request);
      const asked = { identifier, dimension, others, endpoint, method, cost, timestamp, idempotencyKey };
      const result = service.check(asked);
      if (!(result instanceof Promise)) return answer(result, request, with_limits, reply);
      return result.then((result) => answer(result, request, with_limits, reply));
    },
  );

  const correction = (action: Correction, summary: string): void => {
    app.post(
      `/${action}`,
      {
        schema: {
          tags: ["checks"],
          summary,
          body: correctionBody,
          response: {
            200: checkAnswer,
            ...problems(
              "malformed_json",
              "body_too_large",
              "unsupported_media_type",
              "idempotency_conflict",
              "store_unavailable",
            ),
          },
        },
      },
      async (request, reply) => {
        const { endpoint, method, cost, with_limits } = request.body;
        requireRoom(selfLimits, weightOf(endpoint), reply);
        const idempotencyKey = idempotencyKeyOf(request);
        const asked = { ...identitiesIn(request.body), endpoint, method, cost, idempotencyKey };
        return answerOf(await service.correct(action, asked), with_limits);
      },
    );
  };
  correction("refund", "Return units that were charged, at most as many as are used");
  correction("penalize", "Charge units afterwards, even if they are not available");

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

interface WhoseBody {
  readonly identifier?: string | undefined;
  readonly dimension?: Dimension | undefined;
  readonly identities?: readonly Identity[] | undefined;
}

/** The identities of a body that has been validated: it has one of the two forms. */
function identitiesIn(body: WhoseBody): Pick<CheckRequest, "identifier" | "dimension" | "others"> {
  const { identifier = "", dimension = "user", identities } = body;
  if (identities === undefined) return { identifier, dimension, others: undefined };
  const [first, ...others] = identities;
  return { ...first, others };
}
