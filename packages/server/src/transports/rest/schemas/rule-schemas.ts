import { z } from "zod";
import type { RuleInput } from "../../../rules/rule.ts";
import { ruleFields } from "../../../rules/rule-input.ts";
import { count, id } from "./common-fields.ts";
import { next } from "./page-schemas.ts";

export const ruleParams = z.object({ rule_id: id.meta({ examples: ["orders"] }) });

export const rule = z
  .object({
    ...answeredRule(),
    created_at: z.string(),
    updated_at: z.string(),
    version: z.number(),
  })
  .meta({ id: "Rule" });

type AnsweredRule = { readonly [Name in keyof RuleInput]: z.ZodType<RuleInput[Name]> };

function answeredRule(): AnsweredRule {
  return answeredFields(ruleFields.shape) as AnsweredRule;
}

function answeredFields(shape: Readonly<Record<string, z.core.$ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, answered(field)]));
}

/** A field as responses have it: of the same type, but not checked again. */
function answered(field: z.core.$ZodType): z.ZodType {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault) return answered(field.unwrap());
  if (field instanceof z.ZodNullable) return answered(field.unwrap()).nullable();
  if (field instanceof z.ZodPipe) return field.out instanceof z.ZodTransform ? z.string() : answered(field.out);
  if (field instanceof z.ZodEnum) return z.enum(field.enum);
  if (field instanceof z.ZodNumber) return z.number();
  if (field instanceof z.ZodArray) return z.array(answered(field.element));
  if (field instanceof z.ZodObject) return z.object(answeredFields(field.shape));
  return field instanceof z.ZodBoolean ? z.boolean() : z.string();
}

export const rulePage = z.object({ rules: z.array(rule), next }).describe("A page of rules");

export const replaced = z
  .object({
    created: z.array(z.string()),
    updated: z.array(z.string()),
    removed: z.array(z.string()),
    unchanged: count,
  })
  .describe("The rules that were changed");
