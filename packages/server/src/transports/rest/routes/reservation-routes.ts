import type { FastifyReply } from "fastify";
import type { ListedReservation } from "headgate";
import { z } from "zod";
import { DIMENSIONS } from "../../../rules/rule.ts";
import { answerOf } from "../../shared/check-fields.ts";
import type { App } from "../app.ts";
import { requireRoom } from "../authorize.ts";
import { denialCode, denialText } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { PROBLEM_TYPE, PROBLEMS } from "../problem.ts";
import { sendHeaders, sendText } from "../reply.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import {
  denials,
  extendBody,
  problems,
  reservation,
  reservationList,
  reservationParams,
  reserveBody,
  reserved,
  settleBody,
} from "../schemas.ts";

const DENIAL_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;
const BODY = ["malformed_json", "body_too_large", "unsupported_media_type"] as const;
const MOST_LISTED = 1_000;

type Shown = z.output<typeof reservation>;

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
        response: { 201: reserved, ...problems(...BODY, "store_unavailable"), ...denials() },
      },
    },
    async (request, reply) => {
      const { checks, for_ms: forMs, max_wait_ms: maxWaitMs } = request.body;
      for (const { endpoint } of checks) requireRoom(selfLimits, endpoint, reply);
      const signal = closed(reply);
      const { result, reservation } = await reservations.reserve({ checks, forMs, maxWaitMs, signal });
      const fields = headers.write(result);
      if (!result.allowed) {
        sendText(reply, PROBLEMS[denialCode(result)].status, DENIAL_TYPE, fields, denialText(result, true));
        return reply;
      }
      sendHeaders(reply, fields);
      reply.code(201);
      const shown = reservation && shownReservation(reservation);
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
    async () => ({ reservations: (await reservations.list(MOST_LISTED)).map(shownReservation) }),
  );

  const one = { tags: ["reservations"], params: reservationParams };
  const failures = problems("reservation_not_found", "reservation_settled", "reservation_lost", "store_unavailable");

  app.get(
    "/reservations/:reservation_id",
    { schema: { ...one, summary: "Get a reservation", response: { 200: reservation, ...failures } } },
    async ({ params }) => shownReservation(await reservations.open(params.reservation_id)),
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
    async ({ params, body }) => shownReservation(await reservations.extend(params.reservation_id, body.for_ms)),
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
    async ({ params: { reservation_id }, body }) => {
      await reservations.settle(reservation_id, body.costs);
      return { reservation_id };
    },
  );

  app.delete(
    "/reservations/:reservation_id",
    {
      schema: {
        ...one,
        summary: "Release a reservation: everything is given back",
        response: { 204: z.undefined().describe("The reservation was released"), ...failures },
      },
    },
    async ({ params }, reply) => {
      await reservations.release(params.reservation_id);
      reply.code(204);
    },
  );
}

type Listed = Pick<ListedReservation, "id" | "deadlineMs" | "checks">;

function shownReservation({ id, deadlineMs, checks }: Listed): Shown {
  return {
    reservation_id: id,
    expires_at_ms: Math.ceil(deadlineMs),
    reserved: checks.map(({ rule, key, cost, isSlots }) => ({
      rule_id: rule,
      ...identityOf(key),
      cost,
      slots: isSlots,
    })),
  };
}

/** Keys are `user:12345`. */
function identityOf(key: string): Pick<Shown["reserved"][number], "dimension" | "identifier"> {
  const dimension = DIMENSIONS.find((each) => key.startsWith(`${each}:`)) ?? "user";
  return { dimension, identifier: key.slice(dimension.length + 1) };
}

/** Aborts when the client has gone: nothing stays reserved for it. */
function closed(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(new Error("the client has closed the connection"));
  });
  return controller.signal;
}
