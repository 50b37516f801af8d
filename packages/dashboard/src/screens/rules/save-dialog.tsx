import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { RateLimitRule } from "../../api/types.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { ProblemNote } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { type Difference, differences } from "./rule-draft.ts";

/** Shows what saving would change, and saves. */
export function SaveDialog({
  title,
  before,
  after,
  etag,
  onClose,
  onSaved,
}: {
  /** Default: says whether the rule is created or changed. */
  readonly title?: string;
  readonly before: RateLimitRule | undefined;
  readonly after: Readonly<Record<string, unknown>>;
  readonly etag: string | undefined;
  readonly onClose: () => void;
  readonly onSaved: (rule: RateLimitRule) => void;
}) {
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const changes = differences({ ...before }, after);

  const save = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      const { body } =
        before === undefined
          ? await api.send<RateLimitRule>("/api/v1/rules", { method: "POST", body: after })
          : await api.send<RateLimitRule>(`/api/v1/rules/${encodeURIComponent(before.rule_id)}`, {
              method: "PUT",
              body: after,
              headers: etag === undefined ? {} : { "if-match": etag },
            });
      onSaved(body);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  return (
    <Dialog
      title={title ?? (before === undefined ? "Create this rule?" : `Save changes to ${before.rule_id}?`)}
      onClose={onClose}
    >
      {changes.length === 0 ? (
        <p>Nothing has changed.</p>
      ) : (
        <Differences changes={changes} isNew={before === undefined} />
      )}
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Back
        </button>
        {changes.length > 0 && (
          <button type="button" class="button is-primary" onClick={() => void save()}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Differences({
  changes,
  isNew = false,
}: {
  readonly changes: readonly Difference[];
  readonly isNew?: boolean;
}) {
  return (
    <Scroll label="Changes">
      <table class="diff">
        <thead>
          <tr>
            <th scope="col">Field</th>
            {!isNew && <th scope="col">Before</th>}
            <th scope="col">{isNew ? "Value" : "After"}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ field, before, after }) => (
            <tr key={field}>
              <th scope="row">
                <code>{field}</code>
              </th>
              {!isNew && <td>{before === "" ? <span class="muted">none</span> : <del>{before}</del>}</td>}
              <td>{after === "" ? <span class="muted">none</span> : <ins>{after}</ins>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
