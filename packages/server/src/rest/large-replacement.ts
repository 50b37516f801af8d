import { validatorCompiler } from "fastify-type-provider-zod";
import type { ZodType } from "zod";
import { parseReplacementAside } from "../rules/parse-aside.ts";
import { ReplacementError } from "../rules/replacement.ts";
import type { App } from "./app.ts";
import { type FieldProblem, Problem } from "./problem.ts";

/** A body of so many characters is read here, as any other. */
const MOST_HERE = 64 * 1024;

/**
 * Lets the routes of this part of the app take large lists of rules. They are read and checked by another thread: here
 * nobody else would be served meanwhile.
 */
export function takeLargeReplacements(app: App): void {
  const checked = new WeakSet<object>();
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeContentTypeParser("application/json");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, text: string, done) => {
    if (text.length <= MOST_HERE) return parse(request, text, done);
    const reading = parseReplacementAside(text).then((rules) => {
      const body = { rules };
      checked.add(body);
      return body;
    });
    reading.then(
      (body) => done(null, body),
      (error) => done(problemOf(error)),
    );
  });
  app.setValidatorCompiler<ZodType>((route) => {
    const validate = validatorCompiler(route);
    return (value) => (checked.has(value) ? { value } : validate(value));
  });
}

/** Told as what is wrong with any other body. */
function problemOf(error: unknown): Error {
  if (!(error instanceof ReplacementError)) return error instanceof Error ? error : new Error(String(error));
  const errors = error.problems.map(({ field, problem }): FieldProblem => ({ in: "body", field, problem }));
  if (errors[0].field === "") return new Problem("malformed_json");
  const others = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem("validation_failed", `${error.message}${others}`, { errors });
}
