import type { FastifySchemaCompiler } from "fastify";
import type { ZodType, z } from "zod";
import { fieldAt } from "../../rules/field-path.ts";
import { schemaProblem } from "../../rules/schema-problem.ts";
import { type FieldProblem, validationProblem } from "./problem.ts";

const PLACES: Readonly<Record<string, FieldProblem["in"]>> = {
  body: "body",
  querystring: "query",
  params: "path",
  headers: "header",
};

/** Validates a part of a request. What is invalid ends the request with a problem that names all fields. */
export const validateRequest: FastifySchemaCompiler<ZodType> = ({ schema, httpPart = "body" }) => {
  const place = PLACES[httpPart] ?? "body";
  return (value: unknown) => {
    const { data, error } = schema.safeParse(value, { error: schemaProblem });
    return error === undefined ? { value: data } : { error: validationProblem(error.issues.flatMap(fieldsOf(place))) };
  };
};

/** One problem per unknown field, under its own name. */
function fieldsOf(place: FieldProblem["in"]): (issue: z.core.$ZodIssue) => FieldProblem[] {
  return (issue) => {
    if (issue.code === "unrecognized_keys") {
      const field = (key: string): string => fieldAt([...issue.path, key]);
      return issue.keys.map((key) => ({ in: place, field: field(key), problem: "is not a known field" }));
    }
    return [{ in: place, field: fieldAt(issue.path) || place, problem: issue.message }];
  };
}
