import { z } from "zod";
import { anyDimension } from "./common-fields.ts";

const LONGEST_IDENTIFIER = 1_024;
const LONGEST_ENDPOINT = 8_192;
const MOST_IDENTITIES = 8;

export const identifier = z
  .string()
  .min(1)
  .max(LONGEST_IDENTIFIER)
  .meta({ examples: ["12345"] })
  .describe("The user, IP address or API key that made the request");

const identities = z
  .array(z.strictObject({ identifier, dimension: anyDimension.default("user") }))
  .min(1)
  .max(MOST_IDENTITIES)
  .optional()
  .describe("Instead of identifier and dimension: identities that are charged together, all of them or none");

/** A check of one identity. */
export const singleCheck = z.strictObject({
  identifier,
  dimension: anyDimension.default("user"),
  endpoint: z
    .string()
    .min(1)
    .max(LONGEST_ENDPOINT)
    .meta({ examples: ["/api/v1/orders"] })
    .describe("The path of the request, percent-encoded as the client sent it"),
  method: z
    .string()
    .min(1)
    .max(32)
    .optional()
    .meta({ examples: ["POST"] })
    .describe("The HTTP method of the request. Without it, rules that name methods do not apply"),
  cost: z.int().min(0).default(1).describe("Units to charge. With 0, nothing is charged"),
  timestamp: z
    .int()
    .optional()
    .describe("The client's time in milliseconds since 1970. Used only to report the clock skew"),
  with_limits: z.boolean().default(false).describe("Whether the response lists all limits"),
});

const { identifier: _, dimension: __, ...ofAnyIdentity } = singleCheck.shape;

/** A check of one identity, or of several. */
export const checkBody = z
  .strictObject({
    identifier: identifier.optional(),
    dimension: anyDimension.optional().describe("Default: user. Case-insensitive; api_key is accepted for apikey"),
    identities,
    ...ofAnyIdentity,
  })
  .check(requireOneForm);

/** What is to be refunded or charged afterwards. */
export const correctionBody = z
  .strictObject({
    identifier: identifier.optional(),
    dimension: anyDimension.optional().describe("Default: user. Case-insensitive; api_key is accepted for apikey"),
    identities: identities.describe("Instead of identifier and dimension: several identities"),
    endpoint: singleCheck.shape.endpoint,
    method: singleCheck.shape.method,
    cost: z.int().min(1).default(1).describe("Units to return or to charge"),
    with_limits: singleCheck.shape.with_limits,
  })
  .check(requireOneForm);

interface WhoseCheck {
  readonly identifier?: string | undefined;
  readonly dimension?: unknown;
  readonly identities?: readonly unknown[] | undefined;
}

/** As a `check`: `superRefine` would make a function for every request. */
function requireOneForm({ value, issues }: z.core.ParsePayload<WhoseCheck>): void {
  const { identifier, dimension, identities } = value;
  const reject = (field: string, message: string) => {
    issues.push({ code: "custom", path: [field], message, input: value });
  };
  if (identities === undefined) {
    if (identifier === undefined) reject("identifier", "is required, or identities");
  } else if (identifier !== undefined) reject("identifier", "cannot be combined with identities: remove one of them");
  else if (dimension !== undefined) reject("dimension", "must be in each of identities instead: remove it here");
}

/** A cost in a header or a query. Digits only: an empty string would be read as 0, which is free. */
export const costText = z
  .string()
  .regex(/^\d{1,16}$/, "must be digits only")
  .transform(Number)
  .pipe(z.int().min(0))
  .describe("Units to charge. With 0, nothing is charged");
