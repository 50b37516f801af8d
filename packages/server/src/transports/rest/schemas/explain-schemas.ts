import { z } from "zod";
import { checkAnswer } from "./check-answer-schemas.ts";
import { costText, singleCheck } from "./check-schemas.ts";
import { dimension, mode, origin } from "./common-fields.ts";

export const explainQuery = z.strictObject({
  identifier: singleCheck.shape.identifier,
  dimension: singleCheck.shape.dimension,
  endpoint: singleCheck.shape.endpoint,
  method: singleCheck.shape.method,
  cost: costText.default(1),
});

export const explanation = z
  .object({
    identifier: z.string(),
    dimension,
    endpoint: z.string(),
    method: z.string().optional(),
    cost: z.number(),
    tier: z.string().nullable(),
    summary: z.string(),
    answer: checkAnswer,
    rules: z.array(
      z.object({
        rule_id: z.string(),
        name: z.string(),
        endpoint_pattern: z.string(),
        methods: z.array(z.string()).nullable(),
        tier: z.string().nullable(),
        mode,
        applies: z.boolean(),
        origin: origin.nullable(),
        why: z.string(),
      }),
    ),
  })
  .describe("What a check would return, and why");
