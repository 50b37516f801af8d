import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { ExplainedRule } from "../../api/types.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/parts.tsx";

const DURATIONS = [
  ["900", "15 minutes"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
] as const;

/** A limit for one user and a time. */
export function OverrideDialog({
  userId,
  rules,
  onClose,
}: {
  readonly userId: string;
  readonly rules: readonly ExplainedRule[];
  readonly onClose: () => void;
}) {
  const applied = rules.filter(({ applies }) => applies);
  const [draft, setDraft] = useState({
    rule_id: applied[0]?.rule_id ?? "",
    limit: "",
    duration_seconds: "3600",
    reason: "",
  });
  const [problem, setProblem] = useState<ApiProblem>();
  const of = (field: keyof typeof draft) => ({
    value: draft[field],
    onChange: (value: string) => setDraft((before) => ({ ...before, [field]: value })),
    problem: problem?.errors.find((error) => error.field === field)?.problem,
  });
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { rule_id, limit, duration_seconds, reason } = draft;
    try {
      await api.send(`/api/v1/users/${encodeURIComponent(userId)}/override`, {
        method: "POST",
        body: {
          rule_id: rule_id === "" ? null : rule_id,
          limit: /^\d+$/.test(limit) ? Number(limit) : limit,
          duration_seconds: Number(duration_seconds),
          reason,
        },
      });
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <Dialog title={`Override the limit of ${userId}`} onClose={onClose}>
      <form class="override-form" onSubmit={(event) => void save(event)} autocomplete="off" noValidate>
        <SelectField
          label="Rule"
          options={[...applied.map(({ rule_id, name }) => [rule_id, name] as const), ["", "All rules of this user"]]}
          {...of("rule_id")}
        />
        <TextField label="Limit" isNumber isRequired hint="Requests per window of the rule" {...of("limit")} />
        <SelectField label="For" options={DURATIONS} {...of("duration_seconds")} />
        <TextField label="Reason" isRequired hint="Recorded in the audit log" {...of("reason")} />
        {problem && problem.errors.length === 0 && <ProblemNote problem={problem} />}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button is-primary">
            Override
          </button>
        </div>
      </form>
    </Dialog>
  );
}
