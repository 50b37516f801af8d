import { z } from "zod";
import { burstUnits, limitUnits } from "../../../rules/user-input.ts";
import { id, userId } from "./common-fields.ts";
import { ending } from "./expiry-fields.ts";

export const overrideParams = z.object({ user_id: userId, override_id: id });

export const overrideBody = z
  .strictObject({
    rule_id: id.nullable().default(null).describe("The rule to override; null for all rules that apply to the user"),
    limit: limitUnits,
    burst: burstUnits.default(null),
    reason: z
      .string()
      .trim()
      .min(1, "must state the reason")
      .max(1_000)
      .meta({ examples: ["a sale"] }),
    ...ending,
  })
  .refine(({ expires_at, duration_seconds }) => (expires_at === undefined) !== (duration_seconds === undefined), {
    error: "give either expires_at or duration_seconds",
    path: ["expires_at"],
  });

export const override = z
  .object({
    override_id: z.string(),
    user_id: z.string(),
    rule_id: z.string().nullable(),
    limit: z.number(),
    burst: z.number().nullable(),
    reason: z.string(),
    expires_at: z.string(),
    created_at: z.string(),
    created_by: z.string(),
  })
  .meta({ id: "Override" });
