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

/** Every problem that the service answers with. `docs/service/errors.md` is checked against this table. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: "The body is no JSON",
    advice: "Send one JSON object, as in the example of the route in /openapi.json.",
  },
  malformed_request: {
    status: 400,
    title: "The request is no HTTP that can be read",
    advice: "Look at the client, or at the proxy in between.",
  },
  validation_failed: {
    status: 400,
    title: "The request has fields that cannot be used",
    advice: "Correct the fields in errors, and send it again.",
  },
  idempotency_not_possible: {
    status: 400,
    title: "This route does not take an idempotency key",
    advice: "Leave X-Idempotency-Key out. If the answer was lost, revoke the key that was made and make another.",
  },
  unauthenticated: {
    status: 401,
    title: "A key is needed",
    advice: "Send Authorization: Bearer <key>, with a key that is neither expired nor revoked.",
  },
  forbidden: {
    status: 403,
    title: "The key has not the role for this",
    advice: "Use a key with the role in needs, or have one made: POST /api/v1/keys.",
  },
  route_not_found: { status: 404, title: "There is no such route", advice: "See /openapi.json for those there are." },
  rule_not_found: { status: 404, title: "There is no such rule", advice: "GET /api/v1/rules lists those there are." },
  override_not_found: {
    status: 404,
    title: "The user has no such override",
    advice: "GET /api/v1/users/{user_id} lists those there are.",
  },
  key_not_found: { status: 404, title: "There is no such key", advice: "GET /api/v1/keys lists those there are." },
  method_not_allowed: {
    status: 405,
    title: "The route does not take this method",
    advice: "Use one of those in the header Allow.",
  },
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive",
    advice: "Send it in one go.",
  },
  rule_exists: {
    status: 409,
    title: "There is such a rule already",
    advice: "Change it with PUT, or take another rule_id, pattern, window or tier.",
  },
  rules_from_file: {
    status: 409,
    title: "The rules come from a file",
    advice: "Change the file: it is read again by itself. Or start the service without --rules.",
  },
  idempotency_in_progress: {
    status: 409,
    title: "A request with this idempotency key is still under way",
    advice: "Wait for Retry-After, and send the same again.",
  },
  version_changed: {
    status: 412,
    title: "Somebody has changed it since",
    advice: "Get it again, look at what has changed, and send If-Match with its new ETag.",
  },
  body_too_large: { status: 413, title: "The body is too large", advice: "Send less at once." },
  uri_too_long: { status: 414, title: "The address is too long", advice: "Send a shorter path and query." },
  unsupported_media_type: {
    status: 415,
    title: "The body is of another type than JSON",
    advice: "Send Content-Type: application/json.",
  },
  idempotency_conflict: {
    status: 422,
    title: "The idempotency key was used for another request",
    advice: "Take a new key for a new request.",
  },
  quota_exceeded: {
    status: 429,
    title: "Quota exceeded",
    advice: "Wait for Retry-After. Where there is none, ask for less: the limit never holds so much.",
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  },
  too_many_wrong_keys: {
    status: 429,
    title: "Too many wrong API keys have come from this address",
    advice: "Correct the key, and wait for Retry-After.",
  },
  headers_too_large: { status: 431, title: "The headers are too large", advice: "Send fewer or shorter headers." },
  internal_error: {
    status: 500,
    title: "The service failed",
    advice: "Tell the operator: the log has the error under the id in instance.",
  },
  database_unavailable: {
    status: 503,
    title: "The database cannot be used now",
    advice: "Try again after Retry-After. Checks go on with the rules that were last known.",
  },
  store_unavailable: {
    status: 503,
    title: "The store of the counters cannot be used now",
    advice: "Try again after Retry-After.",
  },
  not_ready: { status: 503, title: "The service is not ready", advice: "Ask again in a moment." },
  reduced_capacity: {
    status: 503,
    title: "Temporarily reduced capacity",
    advice: "Wait for Retry-After.",
    type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One field at fault. */
export interface FieldProblem {
  readonly in: "body" | "query" | "path" | "header";
  readonly field: string;
  readonly problem: string;
}

/** RFC 9457, with what programs and their writers need beside it. */
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

/** So many fields at fault are listed. */
const MOST_LISTED = 100;

/** Fields that cannot be used. `more` of them are not given; `unchecked` rules after them were not looked at. */
export function validationProblem(found: readonly FieldProblem[], more = 0, unchecked = 0): Problem {
  const errors = found.slice(0, MOST_LISTED);
  const unlisted = found.length - errors.length + more;
  const [{ field, problem }] = errors;
  const others = errors.length + unlisted > 1 ? [`and ${errors.length + unlisted - 1} more`] : [];
  if (unchecked > 0) others.push(`${unchecked} rules after these were not checked`);
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
