import { z } from "zod";
import { customLimits, tierName, userInput } from "../../../rules/user-input.ts";
import { count, mode, origin, userId } from "./common-fields.ts";
import { override } from "./override-schemas.ts";
import { next, pageQuery } from "./page-schemas.ts";
import { fieldAtFault } from "./problem-schemas.ts";

export const userParams = z.object({ user_id: userId });
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
