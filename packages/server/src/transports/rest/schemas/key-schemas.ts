import { z } from "zod";
import { NAMESPACE, ROLES } from "../../../access/api-key.ts";
import { id } from "./common-fields.ts";
import { ending } from "./expiry-fields.ts";

export const keyParams = z.object({ key_id: id });

export const keyBody = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(255)
      .meta({ examples: ["shop"] }),
    roles: z.array(z.enum(ROLES)).min(1).max(ROLES.length),
    namespace: z
      .string()
      .regex(NAMESPACE, { error: "must have letters, digits, . _ and -, at most 64 of them" })
      .optional()
      .describe(
        "Counters for limits sent with a call, and reservations, belong to this namespace. Keys with the same namespace share them. Default: the key_id",
      )
      .meta({ examples: ["shop"] }),
    ...ending,
  })
  .refine(({ expires_at, duration_seconds }) => expires_at === undefined || duration_seconds === undefined, {
    error: "give expires_at or duration_seconds, not both; without either, the key never expires",
    path: ["expires_at"],
  });

export const apiKey = z
  .object({
    key_id: z.string(),
    name: z.string(),
    roles: z.array(z.enum(ROLES)),
    namespace: z.string(),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: "Key" });

export const keyList = z.object({ keys: z.array(apiKey) }).describe("All keys");

export const newKey = apiKey.extend({
  key: z.string().describe("The key to send in requests. It is returned only once"),
});
