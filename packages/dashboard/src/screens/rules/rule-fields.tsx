import type { FieldError } from "../../api/problem.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/parts.tsx";
import {
  ALGORITHM_NAMES,
  isAbout,
  isSlots,
  RATE_ALGORITHMS,
  type RuleDraft,
  type RuleField,
  shownFields,
} from "./rule-draft.ts";

const DIMENSIONS = [
  ["user", "User"],
  ["ip", "IP address"],
  ["apikey", "API key"],
] as const;
const MODES = [
  ["enforce", "Enforce"],
  ["shadow", "Shadow: count and report, deny nothing"],
] as const;
const ON_ERRORS = [
  ["local", "Each node's share"],
  ["allow", "Allow everything"],
  ["deny", "Deny everything"],
] as const;
const CONSISTENCIES = [
  ["strict", "Strict: the store decides"],
  ["cached", "Cached: decide locally, confirm later"],
  ["leased", "Leased: nodes hold quota"],
  ["split", "Split: an equal share per node"],
] as const;

/** The fields of a rule, in the groups in which people think of them. */
export function RuleFields({
  draft,
  isNew,
  errors,
  onChange,
}: {
  readonly draft: RuleDraft;
  readonly isNew: boolean;
  readonly errors: readonly FieldError[];
  readonly onChange: (field: string, value: string) => void;
}) {
  const of = (field: RuleField) => ({
    value: draft[field],
    onChange: (value: string) => onChange(field, value),
    problem: errors.find((error) => isAbout(error.field, field))?.problem,
  });
  const isTasks = isSlots(draft["algorithm"]);
  return (
    <>
      <Card title="What it applies to">
        <div class="fields">
          <TextField label="Name" isRequired placeholder="Orders" {...of("name")} />
          {isNew && <TextField label="ID" hint="Derived from the name if left blank" {...of("rule_id")} />}
          <TextField
            label="Path"
            isRequired
            placeholder="/api/v1/orders/*"
            hint="* is any one segment, ** at the end any number of them"
            {...of("endpoint_pattern")}
          />
          <TextField label="Methods" placeholder="POST, PUT" hint="All methods if left blank" {...of("methods")} />
          <SelectField label="Counted per" options={DIMENSIONS} {...of("dimension")} />
          <TextField
            label="Tier"
            placeholder="premium"
            hint="Blank: users whose tier has no rule of its own here"
            {...of("tier")}
          />
        </div>
      </Card>
      <Card title="Limit">
        <div class="fields">
          <SelectField
            label="Algorithm"
            options={ALGORITHM_NAMES.map((name) => [name, sentence(name)] as const)}
            {...(isTasks && { hint: "Slots are taken by reservations, and not by checks" })}
            {...of("algorithm")}
          />
          <TextField
            label={isTasks ? "Tasks at the same time" : "Requests"}
            isNumber
            isRequired
            placeholder="100"
            {...of("limit")}
          />
          {!isTasks && draft["calendar"] === "" && (
            <TextField label="Per, in seconds" isNumber isRequired {...of("window_seconds")} />
          )}
          {shownFields(draft).map(({ name, about, choices, isNumber }) =>
            choices === undefined ? (
              <TextField
                key={name}
                label={sentence(name)}
                isNumber={isNumber}
                hint={about}
                {...of(name as RuleField)}
              />
            ) : (
              <SelectField
                key={name}
                label={sentence(name)}
                hint={about}
                options={[
                  ["", name === "calendar" ? "None" : "Default"],
                  ...choices.map((choice) => [choice, sentence(choice)] as const),
                ]}
                {...of(name as RuleField)}
              />
            ),
          )}
        </div>
      </Card>
      <Card title="Enforcement">
        <div class="fields">
          {!isTasks && (
            <>
              <SelectField label="Mode" options={MODES} {...of("mode")} />
              <TextField
                label="Share of keys"
                placeholder="0.1"
                hint="Enforce it for a tenth of the keys with 0.1; for the others it only reports. Blank: all"
                {...of("enforce_share")}
              />
            </>
          )}
          <SelectField label="While the store fails" options={ON_ERRORS} {...of("on_error")} />
          {!isTasks && <SelectField label="Consistency" options={CONSISTENCIES} {...of("consistency")} />}
        </div>
      </Card>
      {!isTasks && (
        <Card
          title="Trial"
          note="Another limit that counts the same requests and is reported as denied by trial. It never denies anything."
        >
          <div class="fields">
            <TextField
              label="Requests on trial"
              isNumber
              placeholder="50"
              hint="Blank: no trial"
              {...of("candidate.limit")}
            />
            <SelectField
              label="Algorithm on trial"
              options={[["", "Same as the rule"], ...RATE_ALGORITHMS.map((name) => [name, sentence(name)] as const)]}
              {...of("candidate.algorithm")}
            />
            <TextField label="Burst on trial" isNumber hint="Blank: the limit on trial" {...of("candidate.burst")} />
            <TextField
              label="Window on trial, in seconds"
              isNumber
              hint="Blank: that of the rule"
              {...of("candidate.window_seconds")}
            />
          </div>
        </Card>
      )}
    </>
  );
}

function sentence(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}
