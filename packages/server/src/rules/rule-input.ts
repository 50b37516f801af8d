import { type AlgorithmName, HeadgateError, isLeasable } from "headgate";
import { z } from "zod";
import { limitOf } from "./family.ts";
import { readPattern } from "./pattern.ts";
import { ANCHORS, CONSISTENCIES, DIMENSIONS, dimensionOf, MODES, ON_ERRORS, type RuleInput } from "./rule.ts";

const ALGORITHMS = [
  "token_bucket",
  "leaky_bucket",
  "gcra",
  "fixed_window",
  "sliding_window_log",
  "sliding_window_counter",
  "bucketed_window",
] as const satisfies readonly AlgorithmName[];

/** The name that the library's builder has for the counter that it recommends. */
const SLIDING_WINDOW = "sliding_window";

/** The longest window of the core, in whole seconds. */
const LONGEST_WINDOW = Math.floor(2 ** 51 / 1_000_000);

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const TIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NAME = /^(?=.*\S)[^\p{Cc}\p{Cs}]{1,255}$/u;

const ruleId = text(ID, "letters, digits, . _ and -, at most 128 of them");

const shape = {
  rule_id: ruleId.optional().describe("What the rule is known by; without it, its name in small letters"),
  name: text(NAME, "a text of at most 255 characters, without line breaks")
    .describe("What people call it")
    .meta({ examples: ["Orders"] }),
  dimension: z
    .preprocess(dimensionOf, oneOf(DIMENSIONS))
    .describe("Whose requests it counts; in any case, and api_key is the same as apikey"),
  endpoint_pattern: z
    .string({ error: told('a path such as "/api/v1/orders"') })
    .describe(
      "Exact parts, :name or * for any one part, ** at the end for whatever follows. * alone is every endpoint, and a slash in front may be left out",
    )
    .meta({ examples: ["/api/v1/orders/*"] })
    .transform(patternOf),
  limit: whole("1 to 2^53 - 1")
    .describe("How many units each window may pass")
    .meta({ examples: [100] }),
  window_seconds: whole("1 to 2251799813 (71 years)")
    .max(LONGEST_WINDOW, { error: told("at most 2251799813 (71 years)"), abort: true })
    .describe("How long a window is")
    .meta({ examples: [60] }),
  algorithm: oneOf([...ALGORITHMS, SLIDING_WINDOW])
    .default("token_bucket")
    .describe(`${SLIDING_WINDOW} is the same as sliding_window_counter`)
    .transform((name) => (name === SLIDING_WINDOW ? "sliding_window_counter" : name)),
  burst: whole("1 to 2^53 - 1, or null")
    .nullable()
    .default(null)
    .describe("How many units can be held at once; null: as many as the limit"),
  anchor: oneOf(ANCHORS)
    .nullable()
    .default(null)
    .describe("Of a fixed_window: whether its windows begin by the clock or with the first request; null: clock"),
  bucket_width: z
    .number({ error: told("a number of seconds above 0, or null") })
    .nullable()
    .default(null)
    .describe("Of a bucketed_window: how long a bucket is, in seconds; null: a choice by the window"),
  exact: z
    .boolean({ error: told("true, false or null") })
    .nullable()
    .default(null)
    .describe("Of a bucketed_window: whether it counts to the microsecond; null: it does not"),
  tier: text(TIER, "letters, digits, . _ and -, at most 64 of them, or null")
    .nullable()
    .default(null)
    .describe("The tier whose users it is for; null: those whose tier has no rule of its own"),
  mode: oneOf(MODES).default("enforce").describe("shadow decides, is counted and shown, and refuses nothing"),
  on_error: oneOf(ON_ERRORS).default("local").describe("What holds while the store of counters fails"),
  consistency: oneOf(CONSISTENCIES)
    .default("strict")
    .describe("Decided by the store, by a local cache of it, or by quota leased from it"),
};

const fields = z.strictObject(shape, {
  error: (issue) =>
    issue.code === "unrecognized_keys"
      ? `has no field ${issue.keys.join(", ")} (known: ${Object.keys(shape).join(", ")})`
      : "must be a rule: an object with at least name, dimension, endpoint_pattern, limit and window_seconds",
});

/** What a writer may give of a rule. What it lets through makes a limit that somebody can pass, and a pattern. */
export const ruleInput = fields
  .superRefine((rule, { addIssue }) => {
    const refuse = (field: string, problem: string) => addIssue({ code: "custom", path: [field], message: problem });
    if (idOf(rule) === "") refuse("rule_id", "is required: the name has no letter or digit to make it of");
    if (rule.tier !== null && rule.dimension !== "user") {
      refuse("tier", "only users have tiers: leave it out, or let the dimension be user");
    }
    attempt(() => readPattern(rule.endpoint_pattern), refuse);
    attempt(() => {
      const limit = limitOf(rule, rule.limit, rule.burst);
      if (rule.consistency === "leased" && !isLeasable(limit)) {
        refuse(
          "consistency",
          `no quota of a ${rule.algorithm} can be leased: use fixed_window, token_bucket or gcra, or strict`,
        );
      }
    }, refuse);
  })
  .transform((rule): RuleInput => ({ ...rule, rule_id: idOf(rule) }));

/** A pattern as people write it. `*` alone would be every endpoint of one part, which nobody means by it. */
function patternOf(text: string): string {
  if (text === "*") return "/**";
  return text === "" || text.startsWith("/") ? text : `/${text}`;
}

/** Empty if there is nothing to make it of. */
function idOf({ rule_id, name }: { readonly rule_id?: string | undefined; readonly name: string }): string {
  if (rule_id !== undefined) return rule_id;
  const plain = name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
  return (plain.match(/[a-z0-9]+/g) ?? []).join("-").slice(0, 128);
}

/** What the core refuses is told as it tells it. */
function attempt(make: () => unknown, refuse: (field: string, problem: string) => void): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    const problem = error.message.slice(error.field.length + 2);
    // The core would name the fields of its own limits, and rules have others.
    refuse(error.field, problem.replace(/^is not a field of (\w+) .*$/, "does not apply to $1: leave it out"));
  }
}

function text(form: RegExp, what: string) {
  const error = told(what);
  return z.string({ error }).regex(form, { error, abort: true });
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
