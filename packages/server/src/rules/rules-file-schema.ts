import { z } from "zod";
import { ruleInput } from "./rule-input.ts";

/** What a rules file contains. */
export const rulesFile = z.strictObject(
  { rules: z.array(ruleInput, { error: "must be a list of rules ([] if there are none)" }) },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `has no field ${issue.keys.join(", ")} (known: rules)`
        : "must be an object with a list of rules, as in rules: [ … ]",
  },
);
