import { PROBLEM_TYPE } from "headgate/http";

export { PROBLEM_TYPE };

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
  /** The problem type that others have registered, where there is one. */
  readonly type?: string;
}

/** Every error that the REST API returns. `docs/service/errors.md` is checked against this table. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: "The request body is not valid JSON",
    advice: "Send a JSON object. /openapi.json has an example for each route.",
  },
  malformed_request: {
    status: 400,
    title: "The request is not valid HTTP",
    advice: "Check the client and any proxy between it and this service.",
  },
  validation_failed: {
    status: 400,
    title: "The request has invalid fields",
    advice: "Correct the fields listed in errors and send the request again.",
  },
  idempotency_not_possible: {
    status: 400,
    title: "This route does not accept an idempotency key",
    advice: "Remove X-Idempotency-Key. If a response was lost, revoke the API key that it created and create another.",
  },
  unauthenticated: {
    status: 401,
    title: "A valid API key is required",
    advice: "Send Authorization: Bearer <key>, with a key that is neither expired nor revoked.",
  },
  forbidden: {
    status: 403,
    title: "The API key does not have the required role",
    advice: "Use a key with the role named in needs, or create one with POST /api/v1/keys.",
  },
  csrf_token_required: {
    status: 403,
    title: "A request with a session cookie needs a CSRF token",
    advice: "Send X-CSRF-Token with the csrf_token of GET /api/v1/session, or use an API key instead of the cookie.",
  },
  route_not_found: { status: 404, title: "Route not found", advice: "See /openapi.json for all routes." },
  rule_not_found: { status: 404, title: "Rule not found", advice: "GET /api/v1/rules lists all rules." },
  override_not_found: {
    status: 404,
    title: "Override not found",
    advice: "GET /api/v1/users/{user_id} lists the overrides of the user.",
  },
  reservation_not_found: {
    status: 404,
    title: "Reservation not found",
    advice: "It has expired, belongs to another API key, or never existed. Nothing was charged for it.",
  },
  key_not_found: { status: 404, title: "API key not found", advice: "GET /api/v1/keys lists all keys." },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    advice: "Use one of the methods in the Allow header.",
  },
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive",
    advice: "Send the whole request within 10 seconds, its headers within 5.",
  },
  rule_exists: {
    status: 409,
    title: "The rule already exists",
    advice: "Change it with PUT, or use another rule_id, pattern, window or tier.",
  },
  rules_from_file: {
    status: 409,
    title: "The rules come from a file",
    advice: "Change the file, which is reread automatically, or start the service without --rules.",
  },
  reservation_settled: {
    status: 409,
    title: "The reservation has ended with other costs",
    advice: "Nothing was charged. Repeat a settlement only with the same costs.",
  },
  reservation_lost: {
    status: 409,
    title: "The reservation was not extended in time",
    advice: "Its quota was given back. Charge what was used with POST /api/v1/penalize.",
  },
  idempotency_in_progress: {
    status: 409,
    title: "A request with this idempotency key is still in progress",
    advice: "Wait for Retry-After, then send the same request again.",
  },
  version_changed: {
    status: 412,
    title: "The resource has changed",
    advice: "Read the resource again, review the change, and send If-Match with its new ETag.",
  },
  body_too_large: {
    status: 413,
    title: "The request body is too large",
    advice: "Split the request into smaller ones.",
  },
  uri_too_long: { status: 414, title: "The URL is too long", advice: "Send a shorter path and query." },
  unsupported_media_type: {
    status: 415,
    title: "The request body is not JSON",
    advice: "Send Content-Type: application/json.",
  },
  idempotency_conflict: {
    status: 422,
    title: "The idempotency key was used for a different request",
    advice: "Use a new key for each new request.",
  },
  quota_exceeded: {
    status: 429,
    title: "Quota exceeded",
    advice: "Wait for Retry-After. If there is none, reduce the cost: it exceeds the limit.",
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  },
  too_many_wrong_keys: {
    status: 429,
    title: "Too many wrong API keys from this address",
    advice: "Correct the key and wait for Retry-After.",
  },
  headers_too_large: {
    status: 431,
    title: "The request headers are too large",
    advice: "Send fewer or shorter headers.",
  },
  client_closed_request: {
    status: 499,
    title: "The client closed the connection",
    advice: "Nothing stays reserved, unless the request had an idempotency key. Only metrics show this status.",
  },
  internal_error: {
    status: 500,
    title: "Internal error",
    advice: "Report the id in instance to the operator, who can find the error in the log.",
  },
  database_unavailable: {
    status: 503,
    title: "The database is unavailable",
    advice: "Retry after Retry-After. Checks continue with the last known rules.",
  },
  store_unavailable: {
    status: 503,
    title: "The store is unavailable",
    advice: "Retry after Retry-After.",
  },
  not_ready: { status: 503, title: "The node is not ready", advice: "Retry in a moment, or use another node." },
  reduced_capacity: {
    status: 503,
    title: "Temporarily reduced capacity",
    advice: "Wait for Retry-After.",
    type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid field. */
export interface FieldProblem {
  readonly in: "body" | "query" | "path" | "header";
  readonly field: string;
  readonly problem: string;
}

/** RFC 9457, with a code for programs and advice for people. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail?: string;
  readonly advice: string;
  readonly [extension: string]: unknown;
}

export function problemBody(
  code: ProblemCode,
  detail?: string,
  more: Readonly<Record<string, unknown>> = {},
): ProblemBody {
  const { status, title, advice, ...kind }: ProblemKind = PROBLEMS[code];
  return {
    type: kind.type ?? `urn:headgate:problem:${code}`,
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail }),
    advice,
    ...more,
  };
}

/** Ends a request with a problem. */
export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly body: ProblemBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail?: string,
    {
      headers = {},
      ...more
    }: { readonly headers?: Readonly<Record<string, string>>; readonly [extension: string]: unknown } = {},
  ) {
    super(detail ?? PROBLEMS[code].title);
    this.body = problemBody(code, detail, more);
    this.headers = headers;
  }
}

/** The most invalid fields that a response lists. */
const MOST_LISTED = 100;

/** Invalid fields. `more` of them are not in `found`; `unchecked` rules were not validated. */
export function validationProblem(found: readonly FieldProblem[], more = 0, unchecked = 0): Problem {
  const errors = found.slice(0, MOST_LISTED);
  const unlisted = found.length - errors.length + more;
  const [{ field, problem }] = errors;
  const others = errors.length + unlisted > 1 ? [`and ${errors.length + unlisted - 1} more`] : [];
  if (unchecked > 0) others.push(`${unchecked} rules after these were not validated`);
  const detail = `${field}: ${problem}${others.length === 0 ? "" : ` (${others.join("; ")})`}`;
  return new Problem("validation_failed", detail, {
    errors,
    ...(unlisted > 0 && { more_errors: unlisted }),
    ...(unchecked > 0 && { unchecked_rules: unchecked }),
  });
}

export function fieldProblem(place: FieldProblem["in"], field: string, problem: string): Problem {
  return new Problem("validation_failed", `${field}: ${problem}`, { errors: [{ in: place, field, problem }] });
}
