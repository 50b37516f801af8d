import type { ZodType } from "zod";
import { inTurns } from "../../rules/cooperative-work.ts";
import { parseReplacementAside } from "../../rules/parse-in-worker.ts";
import { parsingReplacement, ReplacementError } from "../../rules/rules-replacement.ts";
import type { App } from "./app.ts";
import { type FieldProblem, Problem, validationProblem } from "./problem.ts";
import { validateRequest } from "./validate-request.ts";

/** Bodies of up to this many bytes are parsed in this thread, in turns. */
const MOST_HERE = 64 * 1024;

/**
 * Accepts large lists of rules on the routes of this plugin. Another thread parses and validates them, so that this one
 * keeps serving requests. The thread is stopped when the client closes its connection.
 */
export function takeLargeReplacements(app: App): void {
  const checked = new WeakSet<object>();
  app.removeContentTypeParser("application/json");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes: Buffer, done) => {
    const gone = new AbortController();
    const { socket } = request.raw;
    const leave = (): void => gone.abort();
    socket.once("close", leave);
    const reading =
      bytes.length <= MOST_HERE
        ? inTurns(parsingReplacement(bytes.toString("utf8")))
        : parseReplacementAside(bytes, gone.signal);
    reading
      .finally(() => socket.off("close", leave))
      .then(
        (rules) => {
          const body = { rules };
          checked.add(body);
          done(null, body);
        },
        (error) => done(problemOf(error)),
      );
  });
  app.setValidatorCompiler<ZodType>((route) => {
    const validate = validateRequest(route);
    return (value) => (checked.has(value) ? { value } : validate(value));
  });
}

/** Reports errors like those of any other body. */
function problemOf(error: unknown): Error {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
    return new Problem("body_too_large", "parsing the rules needs more memory than a request may use");
  }
  if (error instanceof Error && error.name === "AbortError") {
    return new Problem("malformed_request", "the client closed the connection");
  }
  if (!(error instanceof ReplacementError)) return error instanceof Error ? error : new Error(String(error));
  const { problems, more, unchecked } = error;
  if (problems[0].field === "") return new Problem("malformed_json");
  const errors = problems.map(({ field, problem }): FieldProblem => ({ in: "body", field, problem }));
  return validationProblem(errors, more, unchecked);
}
