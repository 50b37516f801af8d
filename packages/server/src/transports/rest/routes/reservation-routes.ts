import type { FastifyReply } from "fastify";
import { z } from "zod";
import { weightOfReservation } from "../../../checks/reservation-request.ts";
import { answerOf } from "../../shared/check-fields.ts";
import { reservationFields } from "../../shared/reservation-fields.ts";
import type { App } from "../app.ts";
import { isOfSession, principalOf, requireRoom } from "../authorize.ts";
import { denialCode, denialText } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { idempotencyKeyOf } from "../idempotent-writes.ts";
import { PROBLEM_TYPE, PROBLEMS, Problem } from "../problem.ts";
import { sendHeaders, sendText } from "../reply.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { denials } from "../schemas/check-answer-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import {
  extendBody,
  reservation,
  reservationList,
  reservationParams,
  reserveBody,
  reserved,
  settleBody,
} from "../schemas/reservation-schemas.ts";

const DENIAL_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;
const BODY = ["malformed_json", "body_too_large", "unsupported_media_type"] as const;
const MOST_LISTED = 1_000;

/** Reserve quota before it is known what a request costs, and settle it afterwards. */
export function reservationRoutes(app: App, { reservations, selfLimits }: WholeParts): void {
  const headers = new CheckHeaders();

  app.post(
    "/reservations",
    {
      schema: {
        tags: ["reservations"],
        summary: "Reserve quota of several identities and endpoints, all or nothing",
        body: reserveBody,
        response: {
          201: reserved,
          ...problems(...BODY, "idempotency_conflict", "store_unavailable"),
          ...denials(),
        },
      },
    },
    async (request, reply) => {
      const { checks, for_ms: forMs, max_wait_ms: maxWaitMs } = request.body;
      requireRoom(selfLimits, weightOfReservation(checks), reply);
      const idempotencyKey = idempotencyKeyOf(request);
      const asked = { checks, forMs, maxWaitMs, signal: closed(reply), idempotencyKey };
      const { result, reservation } = await reservations.reserve(asked, principalOf(request));
      const fields = headers.write(result);
      if (!result.allowed) {
        sendText(reply, PROBLEMS[denialCode(result)].status, DENIAL_TYPE, fields, denialText(result, true));
        return reply;
      }
      sendHeaders(reply, fields);
      reply.code(201);
      const shown = reservation && reservationFields(reservation);
      return {
        allowed: true,
        reservation_id: shown?.reservation_id ?? null,
        expires_at_ms: shown?.expires_at_ms ?? null,
        reserved: shown?.reserved ?? [],
        limits: answerOf(result, true).limits ?? [],
      };
    },
  );

  app.get(
    "/reservations",
    {
      schema: {
        tags: ["reservations"],
        summary: "List reservations that have not ended",
        response: { 200: reservationList, ...problems("store_unavailable") },
      },
    },
    async () => ({ reservations: (await reservations.list(MOST_LISTED)).map(reservationFields) }),
  );

  const one = { tags: ["reservations"], params: reservationParams };
  const failures = problems("reservation_not_found", "reservation_settled", "reservation_lost", "store_unavailable");

  app.get(
    "/reservations/:reservation_id",
    { schema: { ...one, summary: "Get a reservation", response: { 200: reservation, ...failures } } },
    async (request) => {
      const { reservation_id } = request.params;
      return reservationFields(await reservations.open(reservation_id, principalOf(request)));
    },
  );

  app.patch(
    "/reservations/:reservation_id",
    {
      schema: {
        ...one,
        summary: "Extend a reservation",
        body: extendBody,
        response: { 200: reservation, ...failures, ...problems(...BODY) },
      },
    },
    async (request) => {
      const { params, body } = request;
      return reservationFields(await reservations.extend(params.reservation_id, body.for_ms, principalOf(request)));
    },
  );

  app.post(
    "/reservations/:reservation_id/settle",
    {
      schema: {
        ...one,
        summary: "End a reservation with the real costs",
        body: settleBody,
        response: {
          200: reservation.pick({ reservation_id: true }).describe("The reservation that was settled"),
          ...failures,
          ...problems(...BODY),
        },
      },
    },
    async (request) => {
      const { reservation_id } = request.params;
      await reservations.settle(reservation_id, request.body.costs, principalOf(request));
      return { reservation_id };
    },
  );

  app.delete(
    "/reservations/:reservation_id",
    {
      schema: {
        ...one,
        summary: "Release a reservation and return its quota",
        response: {
          204: z.undefined().describe("The reservation was released"),
          ...failures,
          ...problems("database_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const isByPerson = isOfSession(request);
      await reservations.release(request.params.reservation_id, principalOf(request), { isByPerson });
      reply.code(204);
    },
  );
}

/** Aborts when the client has gone: nothing stays reserved for it, unless it can ask again under an idempotency key. */
function closed(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(new Problem("client_closed_request"));
  });
  return controller.signal;
}
