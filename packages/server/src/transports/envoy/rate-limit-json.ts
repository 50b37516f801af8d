import { z } from "zod";
import { RequestError } from "../../checks/request-error.ts";
import { fieldAt } from "../../rules/field-path.ts";
import type { CallLimit, Descriptor, RateLimitAnswer, RateLimitRequest } from "./descriptor.ts";
import { UNIT_NAMES } from "./descriptor.ts";
import { hitsOf, unitOf } from "./rate-limit-codec.ts";

// The JSON mapping of protobuf: fields in either spelling, enums by name or number, 64 bits as a number or a text. Null is the default value.

const count = z.union([z.number(), z.string()], { error: "must be a whole number" }).transform(hitsOf);
const uint32 = count.refine((value) => value < 2 ** 32, { error: "must be less than 2^32" });
const unit = z.union(
  [
    z.number().transform(unitOf),
    z
      .string()
      .transform((name) => name.toLowerCase())
      .pipe(z.enum(UNIT_NAMES)),
  ],
  { error: `must be one of ${UNIT_NAMES.join(", ").toUpperCase()}` },
);

const limit = z
  .strictObject({ requests_per_unit: uint32.optional(), requestsPerUnit: uint32.optional(), unit })
  .transform(
    (limit): CallLimit => ({
      requestsPerUnit: limit.requests_per_unit ?? limit.requestsPerUnit ?? 0,
      unit: limit.unit,
    }),
  );

const descriptor = z
  .strictObject({
    entries: z.array(z.strictObject({ key: z.string().default(""), value: z.string().default("") })).default([]),
    limit: limit.optional(),
    hits_addend: count.optional(),
    hitsAddend: count.optional(),
    is_negative_hits: z.boolean().optional(),
    isNegativeHits: z.boolean().optional(),
  })
  .transform(
    (given): Descriptor => ({
      entries: given.entries,
      limit: given.limit,
      hits: given.hits_addend ?? given.hitsAddend,
      isRefund: given.is_negative_hits ?? given.isNegativeHits ?? false,
    }),
  );

const request = z
  .strictObject({
    domain: z.string().default(""),
    descriptors: z.array(descriptor).default([]),
    hits_addend: uint32.optional(),
    hitsAddend: uint32.optional(),
  })
  .transform(
    (given): RateLimitRequest => ({
      domain: given.domain,
      descriptors: given.descriptors,
      hits: given.hits_addend ?? given.hitsAddend ?? 0,
    }),
  );

/** Throws a RequestError that names the field. */
export function requestFromJson(text: string): RateLimitRequest {
  let value: unknown;
  try {
    value = JSON.parse(text, (_, given: unknown) => given ?? undefined);
  } catch {
    throw new RequestError("body", "must be a RateLimitRequest in JSON");
  }
  const { data, error } = request.safeParse(value);
  if (error === undefined) return data;
  const [{ path, message }] = error.issues;
  throw new RequestError(fieldAt(path) || "body", message);
}

/** Fields with their default value are left out. */
export function answerToJson({ code, statuses, headers, body }: RateLimitAnswer): string {
  return JSON.stringify({
    overallCode: code,
    statuses: statuses.map(({ code, limit, remaining, resetSeconds }) => ({
      code,
      ...(limit !== undefined && {
        currentLimit: {
          ...(limit.requestsPerUnit > 0 && { requestsPerUnit: limit.requestsPerUnit }),
          ...(limit.unit !== undefined && { unit: limit.unit.toUpperCase() }),
          ...(limit.name !== "" && { name: limit.name }),
        },
      }),
      ...(remaining > 0 && { limitRemaining: remaining }),
      ...(resetSeconds !== undefined && { durationUntilReset: `${resetSeconds}s` }),
    })),
    ...(headers.length > 0 && { responseHeadersToAdd: headers.map(({ name, value }) => ({ key: name, value })) }),
    ...(body !== "" && { rawBody: Buffer.from(body).toString("base64") }),
  });
}
