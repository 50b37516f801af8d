import type { FastifySchemaCompiler } from "fastify";
import { validatorCompiler } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { Dimension } from "../../rules/rule.ts";
import { checkBody, LONGEST_ENDPOINT, LONGEST_IDENTIFIER } from "./schemas.ts";

type CheckBody = z.output<typeof checkBody>;

/** Validates the common form of a check without the schema, which handles all other bodies and all errors. */
export const checkValidator: FastifySchemaCompiler<unknown> = (route) => {
  const bySchema = validatorCompiler({ ...route, schema: checkBody });
  return (body: unknown) => {
    const value = plainCheck(body);
    return value === undefined ? bySchema(body) : { value };
  };
};

/** The validated body if it has only common fields and all are valid; otherwise undefined. */
export function plainCheck(body: unknown): CheckBody | undefined {
  if (!hasFields(body)) return undefined;
  for (const name in body) {
    if (name !== "identifier" && name !== "dimension" && name !== "endpoint" && name !== "cost") return undefined;
  }
  const { identifier, dimension = "user", endpoint, cost = 1 } = body;
  if (!isText(identifier, LONGEST_IDENTIFIER) || !isText(endpoint, LONGEST_ENDPOINT)) return undefined;
  if (!isDimension(dimension) || typeof cost !== "number" || !Number.isSafeInteger(cost) || cost < 0) return undefined;
  return { identifier, dimension, endpoint, cost, with_limits: false };
}

function hasFields(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null;
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= longest;
}

function isDimension(value: unknown): value is Dimension {
  return value === "user" || value === "ip" || value === "apikey";
}
