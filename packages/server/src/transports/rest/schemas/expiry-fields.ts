import { z } from "zod";
import { time } from "./common-fields.ts";

const LONGEST_OVERRIDE_SECONDS = 366 * 86_400;

/** When something ends: at a time, or after a duration. */
export const ending = {
  expires_at: time.optional(),
  duration_seconds: z
    .int()
    .min(1)
    .max(LONGEST_OVERRIDE_SECONDS)
    .optional()
    .meta({ examples: [3_600] }),
};
