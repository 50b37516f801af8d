import { z } from "zod";
import {
  DEFAULT_RESERVATION_MS,
  LONGEST_RESERVATION_MS,
  LONGEST_WAIT_MS,
  MOST_RESERVED_CHECKS,
  SHORTEST_RESERVATION_MS,
} from "../../../checks/reservation-request.ts";
import { limitAnswer } from "./check-answer-schemas.ts";
import { identifier, singleCheck } from "./check-schemas.ts";
import { anyDimension, count, dimension, id } from "./common-fields.ts";

const forMs = z.int().min(SHORTEST_RESERVATION_MS).max(LONGEST_RESERVATION_MS);

export const reserveBody = z.strictObject({
  checks: z
    .array(
      z.strictObject({
        identifier,
        dimension: anyDimension.default("user"),
        endpoint: singleCheck.shape.endpoint,
        method: singleCheck.shape.method,
        cost: z
          .int()
          .min(0)
          .default(1)
          .describe("Units to reserve. Under a limit on concurrent tasks, one slot is reserved instead"),
      }),
    )
    .min(1)
    .max(MOST_RESERVED_CHECKS)
    .describe("What to reserve: all of it or, if a limit denies, nothing"),
  for_ms: forMs
    .default(DEFAULT_RESERVATION_MS)
    .describe("How long the reservation lasts unless it is extended, in milliseconds"),
  max_wait_ms: z.int().min(0).max(LONGEST_WAIT_MS).default(0).describe("How long to wait for quota, in milliseconds"),
});

export const reservationParams = z.object({ reservation_id: id });

export const extendBody = z.strictObject({
  for_ms: forMs.describe("How long the reservation lasts from now on, in milliseconds"),
});

export const settleBody = z.strictObject({
  costs: z
    .record(z.string(), z.int().min(0))
    .default({})
    .describe("The real costs by rule_id. Rules that are not named keep what was reserved"),
});

const reservedLimit = z.object({
  rule_id: z.string(),
  dimension,
  identifier: z.string(),
  cost: count.describe("Units, or slots, that are reserved"),
  slots: z.boolean().describe("Whether it is a limit on concurrent tasks"),
});

export const reservation = z
  .object({
    reservation_id: z.string(),
    owner: z
      .string()
      .nullable()
      .describe("The namespace of the API key that made it; null for one that was not made through the service"),
    made_at_ms: count.describe("When it was made, in milliseconds since 1970, by the store's clock"),
    expires_at_ms: count.describe(
      "When it ends unless it is extended, in milliseconds since 1970, by the store's clock",
    ),
    reserved: z.array(reservedLimit),
  })
  .meta({ id: "Reservation" });

export const reserved = z
  .object({
    allowed: z.boolean(),
    reservation_id: z.string().nullable().describe("Null if no rule matches: there is nothing to settle"),
    expires_at_ms: count.nullable(),
    reserved: z.array(reservedLimit),
    limits: z.array(limitAnswer),
  })
  .describe("What was reserved, and the state of each limit");

export const reservationList = z
  .object({ reservations: z.array(reservation) })
  .describe("Reservations that have not ended, those that expire next first");
