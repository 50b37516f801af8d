import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem, type FieldError } from "../../api/problem.ts";
import type { RateLimitRule, RuleWarning } from "../../api/types.ts";
import { linkTo, navigate } from "../../router.ts";
import { Card, Note, ProblemNote, ScreenHead } from "../../ui/parts.tsx";
import { BLANK, bodyOf, draftOf, keptFields, type RuleDraft } from "./rule-draft.ts";
import { RuleFields } from "./rule-fields.tsx";
import { SaveDialog } from "./save-dialog.tsx";

/** How long to wait after a key press before the service validates the rule. */
const PAUSE_MS = 300;

interface Validation {
  readonly errors: readonly FieldError[];
  readonly warnings: readonly RuleWarning[];
  /** As it would be stored; undefined if it is not valid. */
  readonly rule: Readonly<Record<string, unknown>> | undefined;
  readonly problem: ApiProblem | undefined;
}

const UNKNOWN: Validation = { errors: [], warnings: [], rule: undefined, problem: undefined };

export function NewRule() {
  return (
    <div class="screen">
      <ScreenHead title="New rule">It takes effect on all nodes within a second of being saved.</ScreenHead>
      <RuleEditor onDone={(rule) => navigate(rule === undefined ? "#/rules" : linkTo(["rules", rule.rule_id]))} />
    </div>
  );
}

/** The form of a rule, validated by the service as the user types. */
export function RuleEditor({
  stored,
  etag,
  onDone,
}: {
  /** The rule to change; a new one without. */
  readonly stored?: RateLimitRule;
  readonly etag?: string | undefined;
  /** With the rule that was saved, or nothing if the user gave up. */
  readonly onDone: (rule: RateLimitRule | undefined) => void;
}) {
  const [draft, setDraft] = useState<RuleDraft>(() => (stored === undefined ? BLANK : draftOf(stored)));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [isReviewing, setReviewing] = useState(false);
  const validation = useValidation(draft, stored);
  const { errors, warnings, rule, problem } = validation;

  const change = (field: string, value: string): void => {
    setDraft((before) => ({ ...before, [field]: value }));
    setTouched((before) => new Set(before).add(field));
    setReviewing(false);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setTouched(new Set(Object.keys(draft)));
    // The dialog opens when the service has validated this draft.
    setReviewing(true);
  };
  // An empty form is not full of errors.
  const parts = new Set([...touched].map(partOf));
  const shown = errors.filter(({ field }) => parts.has(partOf(field)));
  return (
    <form class="editor" onSubmit={submit} autocomplete="off" noValidate>
      <RuleFields draft={draft} isNew={stored === undefined} errors={shown} onChange={change} />
      {problem && <ProblemNote problem={problem} />}
      {warnings.length > 0 && (
        <Note tone="warning">
          {warnings.map(({ message }) => (
            <span key={message}>{message}</span>
          ))}
        </Note>
      )}
      <div class="editor-actions">
        <button type="submit" class="button is-primary">
          Review and save
        </button>
        <button type="button" class="button" onClick={() => onDone(undefined)}>
          Cancel
        </button>
        <span role="status" class="muted">
          {shown.length > 0 && `${shown.length === 1 ? "One field needs" : `${shown.length} fields need`} attention`}
        </span>
      </div>
      {isReviewing && rule !== undefined && (
        <SaveDialog
          before={stored}
          after={rule}
          etag={etag}
          onClose={() => setReviewing(false)}
          onSaved={(saved) => onDone(saved)}
        />
      )}
    </form>
  );
}

/** The field of a rule that a field of the form belongs to, such as its candidate. */
function partOf(field: string): string {
  return field.split(/[.[]/)[0];
}

function useValidation(draft: RuleDraft, stored: RateLimitRule | undefined): Validation {
  const [{ of, ...validation }, setValidation] = useState<Validation & { of?: RuleDraft }>(UNKNOWN);
  const isFirst = useRef(true);
  useEffect(() => {
    const leaving = new AbortController();
    const validate = async (): Promise<void> => {
      try {
        const { body } = await api.send<{ rule: Record<string, unknown>; warnings: RuleWarning[] }>(
          "/api/v1/rule-drafts",
          {
            method: "POST",
            body: { ...keptFields(stored), ...bodyOf(draft) },
            signal: leaving.signal,
          },
        );
        setValidation({ of: draft, errors: [], warnings: body.warnings, rule: body.rule, problem: undefined });
      } catch (error) {
        if (leaving.signal.aborted) return;
        const problem = asProblem(error);
        const isAboutFields = problem.errors.length > 0;
        setValidation({ ...UNKNOWN, errors: problem.errors, problem: isAboutFields ? undefined : problem });
      }
    };
    const timer = setTimeout(() => void validate(), isFirst.current ? 0 : PAUSE_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [draft, stored]);
  // A rule made of an earlier draft must not be saved.
  return of === draft ? validation : { ...validation, rule: undefined };
}

/** The card around the form of an existing rule. */
export function EditRule(props: Parameters<typeof RuleEditor>[0]) {
  return (
    <Card title="Edit">
      <RuleEditor {...props} />
    </Card>
  );
}
