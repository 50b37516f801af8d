import { z } from "zod";
import { LONGEST_ID } from "../../../database/storable-text.ts";
import { DIMENSIONS, dimensionOf } from "../../../rules/rule.ts";

export const id = z.string().min(1).max(LONGEST_ID);
export const userId = id.meta({ examples: ["12345"] });
export const count = z.number().int().min(0);
export const time = z.iso.datetime({ offset: true }).describe("ISO 8601");
export const dimension = z.enum(DIMENSIONS);

/** As a request may spell it. */
export const anyDimension = z
  .preprocess(dimensionOf, dimension)
  .describe("Case-insensitive; api_key is accepted for apikey");

export const mode = z.enum(["enforce", "shadow"]);
export const origin = z.enum(["rule", "tier", "custom", "override"]).describe("Where the limit comes from");
