import { algorithms } from "headgate";
import { z } from "zod";
import { CONSISTENCIES, ON_ERRORS } from "../../rules/rule.ts";
import { UNIT_NAMES } from "./descriptor.ts";

/** The largest number of Envoy's API. */
const MOST_REQUESTS = 2 ** 32 - 1;
/** The longest window of the core, in whole seconds. */
const LONGEST_WINDOW = Math.floor(2 ** 51 / 1_000_000);

// Slots are taken by reservations, which Envoy cannot make.
const ALGORITHMS = Object.values(algorithms)
  .filter(({ traits }) => !("releasable" in traits))
  .map(({ name }) => name);

/** Texts of numbers and booleans are kept as they are written: `value: 007` is not 7. */
export const ENVOY_YAML = { texts: new Set(["domain", "key", "value", "name"]), merge: true } as const;

/** An alias of another field can still be a number or a boolean. */
const text = z.union([z.string(), z.number(), z.boolean()], { error: "must be a text" }).transform(String);

const flag = z.boolean({ error: "must be true or false" }).nullish().transform(Boolean);

const rateLimit = object("a rate limit with unit and requests_per_unit", {
  name: text.optional(),
  unit: z
    .string({ error: `must be one of ${UNIT_NAMES.join(", ")}` })
    .transform((unit) => unit.toLowerCase())
    .pipe(oneOf(UNIT_NAMES))
    .optional(),
  requests_per_unit: z
    .int({ error: "must be a whole number" })
    .min(0, { error: "must be 0 or more" })
    .max(MOST_REQUESTS, { error: "must be at most 4294967295" })
    .optional(),
  unlimited: flag,
  replaces: z
    .array(z.strictObject({ name: text.refine((name) => name !== "", { error: "must not be empty" }) }))
    .nullish()
    .transform((list) => list ?? []),
  algorithm: oneOf(ALGORITHMS).optional(),
  burst: z.int({ error: "must be a whole number" }).min(1, { error: "must be at least 1" }).optional(),
  window_seconds: z
    .int({ error: "must be a whole number of seconds" })
    .min(1, { error: "must be at least 1" })
    .max(LONGEST_WINDOW, { error: "must be at most 2251799813 (71 years)" })
    .optional(),
  on_error: oneOf(ON_ERRORS).default("local"),
  consistency: oneOf(CONSISTENCIES).default("strict"),
  charge: oneOf(["always", "if_it_fits"]).optional(),
})
  .superRefine((limit, { addIssue }) => {
    const reject = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
    if (limit.replaces.some(({ name }) => name === limit.name)) reject("replaces", "names the limit itself");
    if (limit.unlimited) {
      if (limit.unit !== undefined) reject("unit", "cannot be combined with unlimited: remove one of them");
      return;
    }
    if (limit.requests_per_unit === undefined) reject("requests_per_unit", "is required");
    if (limit.unit === undefined && limit.window_seconds === undefined) {
      reject("unit", `is required: one of ${UNIT_NAMES.join(", ")}`);
    }
    if (limit.unit !== undefined && limit.window_seconds !== undefined) {
      reject("window_seconds", "replaces the unit: give only one of them");
    }
  })
  .transform((limit) => ({ ...limit, requests_per_unit: limit.requests_per_unit ?? 0 }));

export type RateLimitInput = z.output<typeof rateLimit>;

export interface DescriptorInput {
  readonly key: string;
  readonly value: string;
  readonly rate_limit?: RateLimitInput | null | undefined;
  readonly shadow_mode: boolean;
  readonly quota_mode: boolean;
  readonly detailed_metric: boolean;
  readonly value_to_metric: boolean;
  readonly share_threshold: boolean;
  readonly metadata?: unknown;
  readonly descriptors: readonly DescriptorInput[];
}

const descriptor: z.ZodType<DescriptorInput> = object("a descriptor: an object with a key", {
  key: text.refine((key) => key !== "", { error: "must not be empty" }),
  value: text.nullish().transform((value) => value ?? ""),
  rate_limit: rateLimit.nullish(),
  shadow_mode: flag,
  quota_mode: flag,
  detailed_metric: flag,
  value_to_metric: flag,
  share_threshold: flag,
  metadata: z.unknown().optional(),
  get descriptors() {
    return z
      .array(descriptor, { error: "must be a list of descriptors" })
      .nullish()
      .transform((list) => list ?? []);
  },
}).refine(({ value, share_threshold }) => !share_threshold || value.includes("*"), {
  path: ["share_threshold"],
  error: "needs a value with a wildcard, such as files*",
});

/** A configuration file of envoyproxy/ratelimit: one domain. */
export const envoyFile = object("an object with a domain and a list of descriptors", {
  domain: text.refine((domain) => domain !== "", { error: "must not be empty" }),
  descriptors: z
    .array(descriptor, { error: "must be a list of descriptors" })
    .nullish()
    .transform((list) => list ?? []),
});

/** Fields that have no effect here, with what applies instead. */
export const WITHOUT_EFFECT = {
  detailed_metric: "metrics have the descriptor's place in the configuration, without values of requests",
  value_to_metric: "metrics have the descriptor's place in the configuration, without values of requests",
  metadata: "responses have no dynamic metadata",
} as const;

function oneOf<const Name extends string>(names: readonly Name[]) {
  return z.enum(names, { error: `must be one of ${names.join(", ")}` });
}

function object<const Shape extends z.core.$ZodLooseShape>(what: string, shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `has no field ${issue.keys.join(", ")} (known: ${Object.keys(shape).join(", ")})`
        : `must be ${what}`,
  });
}
