import { type AlgorithmName, algorithms, HeadgateError } from "headgate";
import { z } from "zod";
import { type LimitFieldValues, limitFields } from "./limit-fields.ts";
import { isMethod, METHOD_FORM, methodsOf } from "./methods.ts";
import { readPattern } from "./pattern.ts";
import { CONSISTENCIES, DIMENSIONS, dimensionOf, MODES, ON_ERRORS, type RuleInput } from "./rule.ts";
import { candidateFields, limitOf } from "./shared-counter.ts";

const definitions = Object.values(algorithms);
const NAMES = definitions.map(({ name }) => name);
/** The algorithms that checks apply. Slots are taken only by reservations. */
const RATES = definitions.flatMap(({ name, traits }) => ("releasable" in traits ? [] : name));
const ALIASES = new Map(definitions.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])));
const LEASABLE = definitions.flatMap(({ name, traits }) => (traits.leasable ? name : []));

const WINDOW_RANGE = "1 to 2251799813 (71 years)";
const WINDOW = `a whole number from ${WINDOW_RANGE}`;
/** The longest window of the core, in whole seconds. */
const LONGEST_WINDOW = Math.floor(2 ** 51 / 1_000_000);

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const TIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NAME = /^(?=.*\S)[^\p{Cc}\p{Cs}]{1,255}$/u;

const ruleId = text(ID, "letters, digits, . _ and -, at most 128 of them");

const shape = {
  rule_id: ruleId
    .optional()
    .describe("Identifies the rule. Default: the name in lower case, with dashes between words"),
  name: text(NAME, "a text of at most 255 characters without line breaks")
    .describe("A name for people")
    .meta({ examples: ["Orders"] }),
  dimension: z
    .preprocess(dimensionOf, oneOf(DIMENSIONS))
    .describe("Whose requests are counted. Case-insensitive; api_key is accepted for apikey"),
  endpoint_pattern: z
    .string({ error: told('a path such as "/api/v1/orders"') })
    .describe(
      "The paths that the rule matches: literal segments, :name or * for any one segment, ** at the end for any remaining segments. * alone matches every path, and the leading slash can be omitted",
    )
    .meta({ examples: ["/api/v1/orders/*"] })
    .transform(patternOf),
  methods: z
    .preprocess(methodsOf, z.array(method(), { error: told("a list of HTTP methods such as [POST, PUT], or null") }))
    .refine((methods) => methods.length > 0, { error: "must name at least one method; null stands for all methods" })
    .nullable()
    .default(null)
    .describe("The HTTP methods that the rule applies to, in upper or lower case; null: all methods")
    .meta({ examples: [["POST", "PUT"]] }),
  limit: whole("1 to 2^53 - 1")
    .describe("Units per window; for concurrency, tasks at the same time")
    .meta({ examples: [100] }),
  window_seconds: whole(WINDOW_RANGE)
    .max(LONGEST_WINDOW, { error: told("at most 2251799813 (71 years)"), abort: true })
    .nullable()
    .default(null)
    .describe("Length of the window in seconds; null if the rule has a calendar or limits concurrent tasks")
    .meta({ examples: [60] }),
  algorithm: algorithm(NAMES)
    .default(NAMES[0])
    .describe([...ALIASES].map(([alias, name]) => `${alias} is accepted for ${name}`).join("; ")),
  ...limitShape(),
  tier: text(TIER, "letters, digits, . _ and -, at most 64 of them, or null")
    .nullable()
    .default(null)
    .describe("The tier that the rule is for; null: users whose tier has no rule of its own"),
  mode: oneOf(MODES).default("enforce").describe("A rule in shadow mode is evaluated and reported but never denies"),
  enforce_share: z
    .number({ error: told("a number above 0 and at most 1, or null") })
    .gt(0, { error: "must be above 0: use mode shadow to enforce the rule for no key" })
    .max(1, { error: "must be at most 1" })
    .nullable()
    .default(null)
    .describe(
      "The share of keys for which the rule is enforced, chosen by hash; for the others it only reports. null: all",
    )
    .meta({ examples: [0.1] }),
  candidate: candidateShape()
    .nullable()
    .default(null)
    .describe("Another limit to try: it is evaluated with a counter of its own and reported but never denies"),
  on_error: oneOf(ON_ERRORS)
    .default("local")
    .describe("What decides while the store fails: a local share of the limit, allow, or deny"),
  consistency: oneOf(CONSISTENCIES)
    .default("strict")
    .describe(
      "Where decisions are made: by the store, by a local cache of it, from leased quota, or from an equal share for each node",
    ),
};

/** The fields of a rule. Types, API and database follow them. */
export const ruleFields = z.strictObject(shape, {
  error: (issue) =>
    issue.code === "unrecognized_keys"
      ? `has no field ${issue.keys.join(", ")} (known: ${Object.keys(shape).join(", ")})`
      : "must be a rule: an object with at least name, dimension, endpoint_pattern, limit and window_seconds or calendar",
});

/** A rule as users write it. Everything it accepts has a valid pattern and a limit that some request can pass. */
export const ruleInput = ruleFields
  .superRefine((rule, { addIssue }) => {
    const reject = (field: string, problem: string) =>
      addIssue({ code: "custom", path: field.split("."), message: problem });
    if (idOf(rule) === "")
      reject("rule_id", "is required, because it cannot be derived from a name without letters or digits");
    if (rule.tier !== null && rule.dimension !== "user") {
      reject("tier", "applies only to the dimension user: remove it, or change the dimension");
    }
    attempt(() => readPattern(rule.endpoint_pattern), reject);
    if (algorithms[rule.algorithm].traits.releasable) rejectTrials(rule, reject);
    else if (rule.window_seconds === null && rule.calendar === null) {
      reject("window_seconds", `is required: ${WINDOW}, unless the rule has a calendar`);
      return;
    }
    attempt(() => {
      const { algorithm } = limitOf(rule);
      attempt(
        () => {
          const candidate = candidateFields(rule);
          if (candidate !== undefined) limitOf(candidate);
        },
        (field, problem) => reject(`candidate.${field}`, problem),
      );
      if (rule.consistency === "leased" && !algorithms[algorithm].traits.leasable) {
        reject(
          "consistency",
          `a ${algorithm} cannot be leased: use one of ${LEASABLE.join(", ")}, or consistency strict`,
        );
      }
    }, reject);
  })
  .transform(({ rule_id, ...rule }): RuleInput => ({ rule_id: idOf({ rule_id, name: rule.name }), ...rule }));

/** Slots are kept in the store, and only reservations that are enforced take them. */
function rejectTrials(
  { consistency, mode, enforce_share, candidate }: Omit<RuleInput, "rule_id">,
  reject: (field: string, problem: string) => void,
): void {
  const of = "for a limit on concurrent tasks";
  if (consistency !== "strict") reject("consistency", `must be strict ${of}: slots are kept in the store`);
  if (mode !== "enforce") reject("mode", `must be enforce ${of}: nothing takes slots in shadow mode`);
  if (enforce_share !== null) reject("enforce_share", `must be null ${of}`);
  if (candidate !== null) reject("candidate", `must be null ${of}`);
}

/** A pattern as people write it. `*` alone would match every path of one segment, which is never intended. */
function patternOf(text: string): string {
  if (text === "*") return "/**";
  return text === "" || text.startsWith("/") ? text : `/${text}`;
}

/** Empty if it cannot be derived. */
function idOf({ rule_id, name }: { readonly rule_id?: string | undefined; readonly name: string }): string {
  if (rule_id !== undefined) return rule_id;
  const plain = name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
  return (plain.match(/[a-z0-9]+/g) ?? []).join("-").slice(0, 128);
}

/** Reports what the core rejects in the core's words. */
function attempt(make: () => unknown, reject: (field: string, problem: string) => void): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    // The core would name the fields of its own limits, and rules have others.
    const field = error.field === "window" ? "window_seconds" : error.field;
    reject(field, error.problem.replace(/^is not a field of (\w+) .*$/, "does not apply to $1: remove it"));
  }
}

function candidateShape() {
  const fields = {
    limit: whole("1 to 2^53 - 1").describe("Units per window"),
    burst: whole("1 to 2^53 - 1, or null").nullable().default(null).describe("As in the rule; null: the limit"),
    window_seconds: whole("1 to 2251799813 (71 years), or null")
      .max(LONGEST_WINDOW, { error: told("at most 2251799813 (71 years)"), abort: true })
      .nullable()
      .default(null)
      .describe("Length of the window in seconds; null: that of the rule"),
    algorithm: algorithm(RATES).nullable().default(null).describe("null: that of the rule"),
  };
  return z.strictObject(fields, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `has no field ${issue.keys.join(", ")} (known: ${Object.keys(fields).join(", ")})`
        : "must be an object with limit and, if they differ, burst, window_seconds and algorithm, or null",
  });
}

type LimitShape = {
  readonly [Name in keyof LimitFieldValues]: z.ZodDefault<z.ZodType<LimitFieldValues[Name]>>;
};

function limitShape(): LimitShape {
  const shape = limitFields.map(({ name, type, about, of }) => [
    name,
    zodOf(type)
      .nullable()
      .default(null)
      .describe(`Only for ${of.join(", ")}. ${about}`),
  ]);
  return Object.fromEntries(shape);
}

function zodOf(type: (typeof limitFields)[number]["type"]): z.ZodType {
  if (type === "units") return whole("1 to 2^53 - 1, or null");
  if (type === "day")
    return whole("1 to 31, or null").max(31, { error: told("a whole number from 1 to 31, or null"), abort: true });
  if (type === "text") return z.string({ error: told("a text, or null") }).max(255, { error: told("shorter") });
  if (type === "boolean") return z.boolean({ error: told("true, false or null") });
  if (type === "number" || type === "seconds") return z.number({ error: told("a number of seconds above 0, or null") });
  return oneOf(type);
}

function algorithm(names: readonly AlgorithmName[]) {
  return oneOf([...names, ...ALIASES.keys()]).transform((name) => ALIASES.get(name) ?? (name as AlgorithmName));
}

function text(form: RegExp, what: string) {
  const error = told(what);
  return z.string({ error }).regex(form, { error, abort: true });
}

function method() {
  const error = told(METHOD_FORM);
  return z.string({ error }).refine(isMethod, { error });
}

function oneOf<const Name extends string>(names: readonly Name[]) {
  return z.enum(names, { error: told(`one of ${names.join(", ")}`) });
}

function whole(range: string) {
  const error = told(`a whole number from ${range}`);
  return z.int({ error, abort: true }).min(1, { error, abort: true });
}

function told(what: string): (issue: { readonly input: unknown }) => string {
  return ({ input }) => (input === undefined ? `is required: ${what}` : `must be ${what}`);
}
