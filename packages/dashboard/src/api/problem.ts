/** One invalid field of a request. */
export interface FieldError {
  readonly field: string;
  readonly problem: string;
}

/** A request that failed, in words for people. */
export class ApiProblem extends Error {
  readonly status: number;
  /** For programs; `network` if there was no response. */
  readonly code: string;
  readonly advice: string;
  readonly errors: readonly FieldError[];

  constructor(status: number, code: string, message: string, advice: string, errors: readonly FieldError[] = []) {
    super(message);
    this.name = "ApiProblem";
    this.status = status;
    this.code = code;
    this.advice = advice;
    this.errors = errors;
  }
}

/** The problem document in a response, or the best that can be said without one. */
export function problemIn(status: number, body: unknown): ApiProblem {
  const { code, title, detail, advice, errors } = fieldsOf(body);
  const message = typeof detail === "string" ? detail : title;
  return new ApiProblem(
    status,
    typeof code === "string" ? code : "unexpected_response",
    typeof message === "string" ? message : `The service responded with status ${status}.`,
    typeof advice === "string" ? advice : "Try again in a moment.",
    Array.isArray(errors) ? errors.flatMap(fieldErrorOf) : [],
  );
}

/** What to show for anything that was thrown. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(0, "unexpected", error instanceof Error ? error.message : String(error), "Reload the page.");
}

function fieldErrorOf(value: unknown): FieldError[] {
  const { field, problem } = fieldsOf(value);
  return typeof field === "string" && typeof problem === "string" ? [{ field, problem }] : [];
}

function fieldsOf(value: unknown): Readonly<Partial<Record<string, unknown>>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
