import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import { useMay } from "../../api/session.ts";
import type { Explanation, Override, UserData } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { countText, timeText } from "../../ui/format.ts";
import { ProblemNote } from "../../ui/parts.tsx";
import { OverrideDialog } from "./override-dialog.tsx";
import type { Question } from "./why.tsx";

/** Reset and override, for those who may. */
export function IdentityActions({
  question,
  explanation,
  reload,
}: {
  readonly question: Question;
  readonly explanation: Explanation;
  readonly reload: () => void;
}) {
  const mayWrite = useMay("write");
  const [open, setOpen] = useState<"reset" | "override">();
  const isUser = question.dimension === "user";
  const user = useLoaded(
    async (signal) =>
      isUser ? await api.get<UserData>(`/api/v1/users/${encodeURIComponent(question.identifier)}`, signal) : undefined,
    [question.identifier],
  );
  const close = (): void => {
    setOpen(undefined);
    user.reload();
    reload();
  };
  const overrides = user.data?.overrides ?? [];
  if (!mayWrite && overrides.length === 0) return null;
  return (
    <>
      {overrides.map((override) => (
        <OverrideNote key={override.override_id} override={override} userId={question.identifier} onEnded={close} />
      ))}
      {mayWrite && (
        <div class="actions">
          <button type="button" class="button" onClick={() => setOpen("reset")}>
            Reset usage
          </button>
          {isUser && (
            <button type="button" class="button" onClick={() => setOpen("override")}>
              Override the limit
            </button>
          )}
        </div>
      )}
      {open === "reset" && <ResetDialog question={question} onClose={close} />}
      {open === "override" && <OverrideDialog userId={question.identifier} rules={explanation.rules} onClose={close} />}
    </>
  );
}

function OverrideNote({
  override: { override_id, rule_id, limit, expires_at, reason },
  userId,
  onEnded,
}: {
  readonly override: Override;
  readonly userId: string;
  readonly onEnded: () => void;
}) {
  const mayWrite = useMay("write");
  const [problem, setProblem] = useState<ApiProblem>();
  const end = async (): Promise<void> => {
    const path = `/api/v1/users/${encodeURIComponent(userId)}/override/${encodeURIComponent(override_id)}`;
    try {
      await api.send(path, { method: "DELETE" });
      onEnded();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <div class="note-box">
      <strong>
        {`Overridden: ${countText(limit)} for ${rule_id === null ? "all rules" : rule_id} until ${timeText(expires_at)}`}
      </strong>
      <span>{reason}</span>
      {problem && <ProblemNote problem={problem} />}
      {mayWrite && (
        <div class="actions">
          <button type="button" class="button is-small" onClick={() => void end()}>
            End it now
          </button>
        </div>
      )}
    </div>
  );
}

function ResetDialog({ question, onClose }: { readonly question: Question; readonly onClose: () => void }) {
  const [problem, setProblem] = useState<ApiProblem>();
  const { dimension, identifier, endpoint } = question;
  const reset = async (): Promise<void> => {
    try {
      await api.send("/api/v1/reset", { method: "POST", body: { dimension, identifier, endpoint } });
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <Dialog title={`Reset the usage of ${identifier}?`} onClose={onClose}>
      <p>
        The counters of all rules that match <code>{endpoint}</code> start again from zero. This is recorded in the
        audit log.
      </p>
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button is-primary" onClick={() => void reset()}>
          Reset
        </button>
      </div>
    </Dialog>
  );
}
