import { z } from "zod";
import { NAMESPACE, ROLES } from "../../access/api-key.ts";
import {
  DEFAULT_RESERVATION_MS,
  LONGEST_RESERVATION_MS,
  LONGEST_WAIT_MS,
  MOST_RESERVED_CHECKS,
  SHORTEST_RESERVATION_MS,
} from "../../checks/reservation-request.ts";
import { LONGEST_ID } from "../../database/storable-text.ts";
import { DIMENSIONS, dimensionOf, type RuleInput } from "../../rules/rule.ts";
import { ruleFields } from "../../rules/rule-input.ts";
import { burstUnits, customLimits, limitUnits, tierName, userInput } from "../../rules/user-input.ts";
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from "./problem.ts";

const LONGEST_IDENTIFIER = 1_024;
const LONGEST_ENDPOINT = 8_192;

const id = z.string().min(1).max(LONGEST_ID);
const count = z.number().int().min(0);
const time = z.iso.datetime({ offset: true }).describe("ISO 8601");

const dimension = z.enum(DIMENSIONS);
/** As a request may spell it. */
const anyDimension = z.preprocess(dimensionOf, dimension).describe("Case-insensitive; api_key is accepted for apikey");

// Requests.

const identifier = z
  .string()
  .min(1)
  .max(LONGEST_IDENTIFIER)
  .meta({ examples: ["12345"] })
  .describe("The user, IP address or API key that made the request");

const MOST_IDENTITIES = 8;

const identities = z
  .array(z.strictObject({ identifier, dimension: anyDimension.default("user") }))
  .min(1)
  .max(MOST_IDENTITIES)
  .optional()
  .describe("Instead of identifier and dimension: identities that are charged together, all of them or none");

/** A check of one identity. */
export const singleCheck = z.strictObject({
  identifier,
  dimension: anyDimension.default("user"),
  endpoint: z
    .string()
    .min(1)
    .max(LONGEST_ENDPOINT)
    .meta({ examples: ["/api/v1/orders"] })
    .describe("The path of the request, percent-encoded as the client sent it"),
  method: z
    .string()
    .min(1)
    .max(32)
    .optional()
    .meta({ examples: ["POST"] })
    .describe("The HTTP method of the request. Without it, rules that name methods do not apply"),
  cost: z.int().min(0).default(1).describe("Units to charge. With 0, nothing is charged"),
  timestamp: z
    .int()
    .optional()
    .describe("The client's time in milliseconds since 1970. Used only to report the clock skew"),
  with_limits: z.boolean().default(false).describe("Whether the response lists all limits"),
});

const { identifier: _, dimension: __, ...ofAnyIdentity } = singleCheck.shape;

/** A check of one identity, or of several. */
export const checkBody = z
  .strictObject({
    identifier: identifier.optional(),
    dimension: anyDimension.optional().describe("Default: user. Case-insensitive; api_key is accepted for apikey"),
    identities,
    ...ofAnyIdentity,
  })
  .check(requireOneForm);

/** What is to be refunded or charged afterwards. */
export const correctionBody = z
  .strictObject({
    identifier: identifier.optional(),
    dimension: anyDimension.optional().describe("Default: user. Case-insensitive; api_key is accepted for apikey"),
    identities: identities.describe("Instead of identifier and dimension: several identities"),
    endpoint: singleCheck.shape.endpoint,
    method: singleCheck.shape.method,
    cost: z.int().min(1).default(1).describe("Units to return or to charge"),
    with_limits: singleCheck.shape.with_limits,
  })
  .check(requireOneForm);

interface WhoseCheck {
  readonly identifier?: string | undefined;
  readonly dimension?: unknown;
  readonly identities?: readonly unknown[] | undefined;
}

/** As a `check`: `superRefine` would make a function for every request. */
function requireOneForm({ value, issues }: z.core.ParsePayload<WhoseCheck>): void {
  const { identifier, dimension, identities } = value;
  const refuse = (field: string, message: string) => {
    issues.push({ code: "custom", path: [field], message, input: value });
  };
  if (identities === undefined) {
    if (identifier === undefined) refuse("identifier", "is required, or identities");
  } else if (identifier !== undefined) refuse("identifier", "cannot be combined with identities: remove one of them");
  else if (dimension !== undefined) refuse("dimension", "must be in each of identities instead: remove it here");
}

/** A cost in a header or a query. Digits only: an empty string would be read as 0, which is free. */
export const costText = z
  .string()
  .regex(/^\d{1,16}$/, "must be digits only")
  .transform(Number)
  .pipe(z.int().min(0))
  .describe("Units to charge. With 0, nothing is charged");

export const explainQuery = z.strictObject({
  identifier: singleCheck.shape.identifier,
  dimension: singleCheck.shape.dimension,
  endpoint: singleCheck.shape.endpoint,
  method: singleCheck.shape.method,
  cost: costText.default(1),
});

export const resetBody = z.strictObject({
  identifier: singleCheck.shape.identifier,
  dimension: anyDimension.default("user"),
  endpoint: singleCheck.shape.endpoint
    .optional()
    .describe("Reset only the rules that match this path. Default: all rules of the dimension"),
});

export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.string().min(1).max(1_024).optional().describe("The value of next on the previous page"),
});

/** For lists that nearly always fit on one page. */
export const longPageQuery = pageQuery.extend({ limit: pageQuery.shape.limit.unwrap().default(1_000) });

const userId = id.meta({ examples: ["12345"] });

export const ruleParams = z.object({ rule_id: id.meta({ examples: ["orders"] }) });
export const userParams = z.object({ user_id: userId });
export const overrideParams = z.object({ user_id: userId, override_id: id });
export const keyParams = z.object({ key_id: id });

const LONGEST_OVERRIDE_SECONDS = 366 * 86_400;

export const userQuery = pageQuery.extend({ tier: tierName.optional().describe("List only users of this tier") });

/** Users in one request. Few enough that other nodes are notified of each user and need not reread all of them. */
const MOST_IMPORTED = 500;

export const importBody = z.strictObject({
  // Each is validated by itself, so that many invalid ones do not take long.
  users: z
    .array(z.unknown())
    .min(1)
    .max(MOST_IMPORTED)
    .meta({ items: z.toJSONSchema(userInput, { io: "input" }) }),
});

export const tierBody = z.strictObject({
  tier: tierName
    .nullable()
    .describe("A name such as free, premium or enterprise; null for no tier")
    .meta({ examples: ["premium"] }),
});

export const customBody = z.strictObject({ custom_limits: customLimits.describe("Limits by rule_id; {} removes all") });

/** When something ends: at a time, or after a duration. */
const ending = {
  expires_at: time.optional(),
  duration_seconds: z
    .int()
    .min(1)
    .max(LONGEST_OVERRIDE_SECONDS)
    .optional()
    .meta({ examples: [3_600] }),
};

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

export const keyBody = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(255)
      .meta({ examples: ["shop"] }),
    roles: z.array(z.enum(ROLES)).min(1).max(ROLES.length),
    namespace: z
      .string()
      .regex(NAMESPACE, { error: "must have letters, digits, . _ and -, at most 64 of them" })
      .optional()
      .describe(
        "What counters for limits sent with a call are kept under. Keys with the same namespace share them. Default: the key_id",
      )
      .meta({ examples: ["shop"] }),
    ...ending,
  })
  .refine(({ expires_at, duration_seconds }) => expires_at === undefined || duration_seconds === undefined, {
    error: "give expires_at or duration_seconds, not both; without either, the key never expires",
    path: ["expires_at"],
  });

export const auditQuery = pageQuery.extend({
  user: id.optional().describe("Entries about this user; short for subject=user:<id>"),
  subject: z
    .string()
    .min(1)
    .max(1_100)
    .optional()
    .describe(
      "Entries about this subject: rule:<id>, user:<id>, ip:<address>, apikey:<id>, key:<id> or reservation:<id>",
    ),
  action: z.string().min(1).max(64).optional(),
  from: time.optional(),
  to: time.optional(),
});

export const usageQuery = longPageQuery.extend({
  period: z.enum(["minute", "day"]).default("minute"),
  rule_id: id.optional(),
  from: time.optional().describe("Default: one hour before to, or 30 days when period is day"),
  to: time.optional().describe("Default: now"),
});

/** Rules in a summary. Each has a number for every minute or day. */
const MOST_SUMMED = 200;

export const summaryQuery = z.strictObject({
  ...usageQuery.omit({ rule_id: true, cursor: true, limit: true }).shape,
  limit: z.coerce.number().int().min(1).max(MOST_SUMMED).default(20).describe("Maximum number of rules"),
});

export const topQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(1_000).default(20) });

const forMs = z.int().min(SHORTEST_RESERVATION_MS).max(LONGEST_RESERVATION_MS);

export const reserveBody = z.strictObject({
  checks: z
    .array(
      z.strictObject({
        identifier,
        dimension: anyDimension.default("user"),
        endpoint: singleCheck.shape.endpoint,
        method: singleCheck.shape.method,
        cost: z.int().min(0).default(1).describe("Units to reserve. Of a limit on concurrent tasks, one slot is taken"),
      }),
    )
    .min(1)
    .max(MOST_RESERVED_CHECKS)
    .describe("What to reserve: all of it or, if a limit denies, nothing"),
  for_ms: forMs
    .default(DEFAULT_RESERVATION_MS)
    .describe("How long the reservation lasts unless it is extended, in milliseconds"),
  max_wait_ms: z.int().min(0).max(LONGEST_WAIT_MS).default(0).describe("How long to wait for quota, in milliseconds"),
});

export const reservationParams = z.object({ reservation_id: id });
export const extendBody = z.strictObject({
  for_ms: forMs.describe("How long the reservation lasts from now on, in milliseconds"),
});
export const settleBody = z.strictObject({
  costs: z
    .record(z.string(), z.int().min(0))
    .default({})
    .describe("The real costs by rule_id. Rules that are not named keep what was reserved"),
});

// Responses.

const state = z.enum(["normal", "warning", "throttled"]);
const source = z.enum(["store", "lease", "cache", "fallback"]);
const mode = z.enum(["enforce", "shadow"]);
const origin = z.enum(["rule", "tier", "custom", "override"]).describe("Where the limit comes from");
const wait = z
  .int()
  .min(-1)
  .describe("Milliseconds to wait before retrying; 0 if allowed, -1 if the request can never be allowed");

const queue = {
  queue_position: count.optional().describe("Units in the queue of a leaky bucket, including this request"),
  delay_ms: count
    .optional()
    .describe("Milliseconds to delay the request so that the traffic of a leaky bucket leaves at a constant rate"),
};

const limitAnswer = z.object({
  rule_id: z.string(),
  name: z.string(),
  dimension: dimension.optional().describe("If the check has several identities: whose limit it is"),
  identifier: z.string().optional(),
  allowed: z.boolean(),
  current_count: z.number(),
  limit: z.number(),
  burst: z.number(),
  window_seconds: z.number().describe("Length of the window; of a calendar, of the one that the check was counted in"),
  remaining: z.number(),
  reset_at_ms: count,
  retry_after_ms: wait,
  ...queue,
  state,
  source,
  degraded: z.boolean(),
  origin,
  candidate: z.literal(true).optional().describe("Set if it is the candidate of the rule"),
});

const answer = {
  allowed: z.boolean(),
  current_count: z.number().nullable().describe("Units in use; null if no rule matches"),
  limit: z.number().nullable(),
  remaining: z.number().nullable(),
  reset_at: count.nullable().describe("Unix time in seconds at which the full quota will be available"),
  retry_after: wait.describe("Seconds to wait before retrying; 0 if allowed, -1 if the request can never be allowed"),
  reset_at_ms: count.nullable(),
  retry_after_ms: wait,
  ...queue,
  rule_id: z.string().nullable().describe("The rule that decided"),
  state,
  source: source.nullable(),
  degraded: z.boolean().describe("Whether the decision was made without the store"),
  skew_ms: z
    .number()
    .optional()
    .describe("Milliseconds by which the client's clock is ahead of the store's, if timestamp was sent"),
  skewed: z.boolean().describe("Whether skew_ms exceeds skew_bound"),
  not_applied: z
    .array(z.string())
    .optional()
    .describe("Rules that limit concurrent tasks: only reservations apply them"),
  limits: z.array(limitAnswer).optional().describe("All enforced limits, if with_limits was set"),
  shadow_limits: z
    .array(limitAnswer)
    .optional()
    .describe(
      "All limits that deny nothing: in shadow mode, outside enforce_share, or candidates; if with_limits was set",
    ),
};

export const checkAnswer = z.object(answer).describe("The request is allowed");

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

const next = z.string().optional().describe("The cursor of the next page; absent on the last page");

export const rulePage = z.object({ rules: z.array(rule), next }).describe("A page of rules");
export const replaced = z
  .object({
    created: z.array(z.string()),
    updated: z.array(z.string()),
    removed: z.array(z.string()),
    unchanged: count,
  })
  .describe("The rules that were changed");

const fieldAtFault = z.object({
  in: z.enum(["body", "query", "path", "header"]),
  field: z.string(),
  problem: z.string(),
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

export const userData = z
  .object({
    user_id: z.string(),
    tier: z.string().nullable(),
    custom_limits: z.record(z.string(), z.object({ limit: z.number(), burst: z.number().nullable().optional() })),
    overrides: z.array(override).describe("Overrides that have not expired"),
    version: z.number(),
  })
  .meta({ id: "User" });

const warnings = z
  .array(fieldAtFault)
  .optional()
  .describe("Values that were stored but probably have no effect, such as a tier that no rule uses");

export const changedUser = userData.extend({ warnings }).meta({ id: "ChangedUser" });
export const userPage = z.object({ users: z.array(userData), next }).describe("A page of users");
export const imported = z
  .object({ created: count, updated: count, unchanged: count, warnings })
  .describe("How many users were created, updated and left unchanged");

export const userLimits = z
  .object({
    user_id: z.string(),
    tier: z.string().nullable(),
    version: z.number(),
    limits: z.array(
      z.object({
        rule_id: z.string(),
        name: z.string(),
        endpoint_pattern: z.string(),
        methods: z.array(z.string()).nullable(),
        window_seconds: z.number().nullable(),
        calendar: z.string().nullable(),
        time_zone: z.string().nullable(),
        anchor_day: z.number().nullable(),
        algorithm: z.string(),
        mode,
        limit: z.number(),
        burst: z.number(),
        origin,
        tier: z.string().nullable(),
      }),
    ),
    next,
  })
  .describe("A page of the limits in force, ordered by rule_id");

export const apiKey = z
  .object({
    key_id: z.string(),
    name: z.string(),
    roles: z.array(z.enum(ROLES)),
    namespace: z.string(),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: "Key" });

export const keyList = z.object({ keys: z.array(apiKey) }).describe("All keys");
export const newKey = apiKey.extend({
  key: z.string().describe("The key to send in requests. It is returned only once"),
});

export const auditPage = z
  .object({
    entries: z.array(
      z.object({
        seq: z.number(),
        at: z.string(),
        actor_id: z.string(),
        actor_name: z.string(),
        action: z.string(),
        subject: z.string(),
        before: z.unknown(),
        after: z.unknown(),
        previous_hash: z.string(),
        hash: z.string(),
        unreadable: z
          .string()
          .optional()
          .describe("Why the stored entry cannot be parsed; the field it names has the stored text"),
      }),
    ),
    next,
  })
  .describe("A page of the audit log");

export const usage = z
  .object({
    period: z.enum(["minute", "day"]),
    from: z.string(),
    to: z.string(),
    rollups: z.array(
      z.object({
        start: z.string(),
        rule_id: z.string(),
        allowed: count,
        denied: count,
        shadow_denied: count,
        candidate_denied: count,
      }),
    ),
    next,
  })
  .describe("A page of usage figures, ordered by start and rule_id");

const series = {
  allowed: z.array(count),
  denied: z.array(count),
  shadow_denied: z.array(count),
  candidate_denied: z.array(count),
};

export const usageSummary = z
  .object({
    period: z.enum(["minute", "day"]),
    from: z.string(),
    to: z.string(),
    starts: z.array(z.string()).describe("The minutes or days in which anything was decided"),
    total: z.object(series).describe("All rules together, one number for each start"),
    rules: z
      .array(z.object({ rule_id: z.string(), ...series }))
      .describe("The rules that denied most, one number for each start"),
  })
  .describe("Usage figures summed up");

const link = z.object({ seq: count, hash: z.string() });

export const verification = z
  .object({
    intact: z.boolean(),
    entries: count.describe("Number of unmodified entries"),
    begins_after: link.describe("The last entry that was purged; seq 0 if none was"),
    head: link.describe("The last entry. Keep it elsewhere to detect later whether the log was rewritten"),
    broken: z
      .array(z.looseObject({ seq: count }))
      .optional()
      .describe("Where the chain is broken"),
    unlisted: count.optional().describe("Number of further breaks"),
  })
  .describe("Whether the audit log is intact");

export const topDenied = z
  .object({
    keys: z.array(
      z.object({
        dimension,
        identifier: z.string(),
        denied: count.describe("Upper bound of the number of denials"),
        error: count.describe("How much lower the true number may be"),
      }),
    ),
    nodes: count.describe("Number of nodes that contributed; a restarted node counts again"),
    complete: z.boolean().describe("Whether the figures of all nodes could be read"),
  })
  .describe("The keys that were denied most often");

export const reset = z
  .object({
    reset: z.array(z.string()).max(1_000),
    more: count.optional().describe("Number of further rules that were reset"),
  })
  .describe("The rules that were reset");
export const status = z.object({ status: z.string() }).describe("The node is up");

// Problems.

const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    code: z.enum(Object.keys(PROBLEMS)),
    detail: z.string().optional(),
    advice: z.string(),
    errors: z.array(fieldAtFault).max(100).optional(),
    more_errors: count.optional().describe("Number of further invalid fields"),
    unchecked_rules: count
      .optional()
      .describe("Number of rules that were not validated because too many others were invalid"),
  })
  .meta({ id: "Problem" });

const denial = z.looseObject({ ...problem.shape, ...answer, "violated-policies": z.array(z.string()) });

interface ProblemResponse {
  readonly description: string;
  readonly content: { readonly [PROBLEM_TYPE]: { readonly schema: typeof problem } };
}

/** The errors that any route with a key may return. */
const COMMON: readonly ProblemCode[] = [
  "validation_failed",
  "unauthenticated",
  "forbidden",
  "quota_exceeded",
  "too_many_wrong_keys",
  "internal_error",
];

/** The error responses of a route by status, including the common ones. */
export function problems(...codes: readonly ProblemCode[]): Record<number, ProblemResponse> {
  return openProblems(...new Set([...COMMON, ...codes]));
}

/** The same for a route that needs no key. */
export function openProblems(...codes: readonly ProblemCode[]): Record<number, ProblemResponse> {
  const responses: Record<number, ProblemResponse> = {};
  for (const code of codes) {
    const { status } = PROBLEMS[code];
    const before = responses[status]?.description;
    const description = before === undefined ? code : `${before}, ${code}`;
    responses[status] = { description, content: { [PROBLEM_TYPE]: { schema: problem } } };
  }
  return responses;
}

/** The responses of a denied check. */
export function denials(): Record<number, { description: string; content: Record<string, { schema: z.ZodType }> }> {
  const schema = z.union([denial, problem]);
  return {
    429: { description: "quota_exceeded: the request is denied", content: { [PROBLEM_TYPE]: { schema } } },
    503: {
      description: "reduced_capacity: the request is denied without the store; store_unavailable",
      content: { [PROBLEM_TYPE]: { schema } },
    },
  };
}

const reservedLimit = z.object({
  rule_id: z.string(),
  dimension,
  identifier: z.string(),
  cost: count.describe("Units, or slots, that are reserved"),
  slots: z.boolean().describe("Whether it is a limit on concurrent tasks"),
});

export const reservation = z
  .object({
    reservation_id: z.string(),
    owner: z
      .string()
      .nullable()
      .describe("The namespace of the API key that made it; null for one that was not made through the service"),
    made_at_ms: count.describe("When it was made, in milliseconds since 1970, by the store's clock"),
    expires_at_ms: count.describe(
      "When it ends unless it is extended, in milliseconds since 1970, by the store's clock",
    ),
    reserved: z.array(reservedLimit),
  })
  .meta({ id: "Reservation" });

export const reserved = z
  .object({
    allowed: z.boolean(),
    reservation_id: z.string().nullable().describe("Null if no rule matches: there is nothing to settle"),
    expires_at_ms: count.nullable(),
    reserved: z.array(reservedLimit),
    limits: z.array(limitAnswer),
  })
  .describe("What was reserved, and the state of each limit");

export const reservationList = z
  .object({ reservations: z.array(reservation) })
  .describe("Reservations that have not ended, those that expire next first");
