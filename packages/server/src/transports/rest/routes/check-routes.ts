import type { CheckRequest, CheckResult, Correction, Identity } from "../../../checks/check.ts";
import { weightOf } from "../../../checks/check-weight.ts";
import type { Dimension } from "../../../rules/rule.ts";
import { answerOf } from "../../shared/check-fields.ts";
import type { App } from "../app.ts";
import { principalOf, requireRoom } from "../authorize.ts";
import type { CheckResponses } from "../check-responses.ts";
import type { DirectChecks } from "../check-route.fast.ts";
import { idempotencyKeyOf } from "../idempotent-writes.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { checkAnswer, denials } from "../schemas/check-answer-schemas.ts";
import { checkBody, correctionBody } from "../schemas/check-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { reset, resetBody } from "../schemas/reset-schemas.ts";

/** The most rules that the response to a reset lists. */
const MOST_NAMED = 1_000;

export function checkRoutes(
  app: App,
  { service, selfLimits }: WholeParts,
  responses: CheckResponses,
  direct: DirectChecks,
): void {
  app.post(
    "/check",
    {
      config: { countsItself: true },
      preParsing: direct.resume,
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
      const answer = (result: CheckResult): void => {
        reply.hijack();
        responses.write(reply.raw, result, with_limits, request.arrivedAt);
      };
      return result instanceof Promise ? result.then(answer) : answer(result);
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
