import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { ListedReservation } from "../../api/types.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { ProblemNote } from "../../ui/parts.tsx";
import { amountText } from "./reservation-text.ts";

/** Asks before a reservation is released. */
export function ReleaseDialog({
  reservation: { reservation_id, reserved },
  onClose,
  onReleased,
}: {
  readonly reservation: ListedReservation;
  readonly onClose: () => void;
  readonly onReleased: () => void;
}) {
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const release = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      await api.send(`/api/v1/reservations/${encodeURIComponent(reservation_id)}`, { method: "DELETE" });
      onReleased();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Release this reservation?" onClose={onClose}>
      <ul class="released">
        {reserved.map(({ rule_id, dimension, identifier, cost, slots }) => (
          <li key={`${rule_id} ${dimension} ${identifier}`}>
            {amountText(cost, slots)} of <code>{rule_id}</code>, reserved by <strong>{identifier}</strong>
          </li>
        ))}
      </ul>
      <p>
        All of it is given back at once. The task that reserved it is not stopped: it goes on without a reservation, and
        cannot settle its costs any more.
      </p>
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button is-danger" onClick={() => void release()}>
          {isBusy ? "Releasing…" : "Release"}
        </button>
      </div>
    </Dialog>
  );
}
