import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { AuditEntry, AuditPage, Verification } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { linkTo, navigate, type Route } from "../../router.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { clockText, countText, dateText } from "../../ui/format.ts";
import { Badge, Card, Empty, Note, ProblemNote, ScreenHead, WithData } from "../../ui/parts.tsx";
import { ACTIONS, actionText, toneOf } from "./audit-actions.ts";
import { EntryDetails } from "./entry-details.tsx";
import "./history.css";

const PAGE = 50;

/** Every change, in the order of the audit log, and whether the log is intact. */
export function History({ route }: { readonly route: Route }) {
  const subject = route.query.get("subject") ?? "";
  const action = route.query.get("action") ?? "";
  return (
    <div class="screen">
      <ScreenHead title="History">Who changed what. Each entry contains the hash of the one before it.</ScreenHead>
      <VerificationNote />
      <Filters key={`${subject} ${action}`} subject={subject} action={action} />
      <Timeline key={`entries ${subject} ${action}`} subject={subject} action={action} />
    </div>
  );
}

function VerificationNote() {
  const loaded = useLoaded((signal) => api.get<Verification>("/api/v1/audit/verification", signal), []);
  return (
    <WithData of={loaded}>
      {({ intact, entries, begins_after, head, broken = [] }) =>
        intact ? (
          <Note tone="good">
            <strong>The chain is intact</strong>
            <span>
              {`${countText(entries)} entries verified`}
              {begins_after.seq > 0 && `; ${countText(begins_after.seq)} older ones were purged`}. Head {head.seq}:{" "}
              <code class="hash">{head.hash}</code>
            </span>
          </Note>
        ) : (
          <div class="note-box is-bad" role="alert">
            <strong>The chain is broken</strong>
            <span>Entries were changed or removed outside Headgate. The first breaks:</span>
            <ul>
              {broken.slice(0, 5).map(({ seq, problem }) => (
                <li key={seq}>{`Entry ${seq}${problem === undefined ? "" : `: ${problem}`}`}</li>
              ))}
            </ul>
          </div>
        )
      }
    </WithData>
  );
}

function Filters({ subject, action }: { readonly subject: string; readonly action: string }) {
  const [text, setText] = useState(subject);
  const show = (subject: string, action: string): void =>
    navigate(linkTo(["history"], { ...(subject !== "" && { subject }), ...(action !== "" && { action }) }));
  return (
    <form
      class="filters"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        show(text.trim(), action);
      }}
    >
      <TextField label="Subject" placeholder="rule:orders, user:12345, key:…" value={text} onChange={setText} />
      <SelectField
        label="Action"
        value={action}
        options={[["", "All"], ...ACTIONS.map((name) => [name, actionText(name)] as const)]}
        onChange={(value) => show(text.trim(), value)}
      />
      <button type="submit" class="button">
        Filter
      </button>
    </form>
  );
}

function Timeline({ subject, action }: { readonly subject: string; readonly action: string }) {
  const query = (cursor?: string): string =>
    `/api/v1/audit?${new URLSearchParams({
      limit: String(PAGE),
      ...(subject !== "" && { subject }),
      ...(action !== "" && { action }),
      ...(cursor !== undefined && { cursor }),
    })}`;
  const loaded = useLoaded((signal) => api.get<AuditPage>(query(), signal), []);
  const [entries, setEntries] = useState<readonly AuditEntry[]>([]);
  const [next, setNext] = useState<string>();
  const [problem, setProblem] = useState<ApiProblem>();
  useEffect(() => {
    setEntries(loaded.data?.entries ?? []);
    setNext(loaded.data?.next);
  }, [loaded.data]);
  const more = async (): Promise<void> => {
    try {
      const page = await api.get<AuditPage>(query(next));
      setEntries((before) => [...before, ...page.entries]);
      setNext(page.next);
      setProblem(undefined);
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <WithData of={loaded}>
      {(first) =>
        first.entries.length === 0 ? (
          <Card>
            <Empty title="No entries">
              {subject === "" && action === ""
                ? "Changes of rules, users and keys are recorded here."
                : "Nothing matches these filters."}
            </Empty>
          </Card>
        ) : (
          <>
            {days(entries).map(([day, ofDay]) => (
              <Card key={day} title={day}>
                <ol class="timeline">
                  {ofDay.map((entry) => (
                    <Entry key={entry.seq} entry={entry} />
                  ))}
                </ol>
              </Card>
            ))}
            {problem && <ProblemNote problem={problem} />}
            {next !== undefined && (
              <div class="actions">
                <button type="button" class="button" onClick={() => void more()}>
                  Show older entries
                </button>
              </div>
            )}
          </>
        )
      }
    </WithData>
  );
}

function days(entries: readonly AuditEntry[]): readonly (readonly [string, readonly AuditEntry[]])[] {
  const byDay = new Map<string, AuditEntry[]>();
  for (const entry of entries) {
    const day = dateText(entry.at);
    const before = byDay.get(day);
    if (before === undefined) byDay.set(day, [entry]);
    else before.push(entry);
  }
  return [...byDay];
}

function Entry({ entry }: { readonly entry: AuditEntry }) {
  const { seq, at, actor_name, actor_id, action, subject, unreadable } = entry;
  return (
    <li>
      <details>
        <summary>
          <Badge tone={toneOf(action)}>{actionText(action)}</Badge>
          <span class="subject">{subject}</span>
          <span class="muted">
            {actor_name === "" ? actor_id : actor_name}, {clockText(at)}
          </span>
        </summary>
        {unreadable !== undefined && <Note tone="warning">{unreadable}</Note>}
        <EntryDetails entry={entry} />
        <p class="muted">
          Entry {seq}, hash <code class="hash">{entry.hash}</code>
        </p>
      </details>
    </li>
  );
}
