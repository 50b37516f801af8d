import type { RuleInput } from "headgate-server";
import { useState } from "preact/hooks";
import { type LoadedRules, loadRules } from "../../api/load-rules.ts";
import { useSession } from "../../api/session.ts";
import type { Dimension } from "../../api/types.ts";
import { type Loaded, useLoaded } from "../../api/use-loaded.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { countText, shareText } from "../../ui/format.ts";
import { Card, Empty, Note, ProblemNote, ScreenHead } from "../../ui/parts.tsx";
import { fieldsOf, RATE_ALGORITHMS } from "../rules/rule-draft.ts";
import { DropZone } from "./drop-zone.tsx";
import { KeyTimelineCard } from "./key-timeline-card.tsx";
import { ReplayResults } from "./replay-results.tsx";
import { FIRST_LIMIT, type LimitDraft, type LimitField, problemsOf, ruleOf } from "./replay-rules.ts";
import { useReplay } from "./use-replay.ts";
import "./replay.css";

const DIMENSIONS = [
  ["ip", "IP address"],
  ["user", "User"],
  ["apikey", "API key"],
] as const;

const NO_RULES: LoadedRules = { rules: [], isComplete: true };

/** What limits would have done to the traffic of a log, in the browser. */
export function Replay() {
  const { session, wasLost } = useSession();
  const isSignedIn = session !== null;
  const stored = useLoaded(async (signal) => (isSignedIn ? loadRules(signal) : NO_RULES), [isSignedIn]);
  const run = useReplay();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [dimension, setDimension] = useState<Dimension>("ip");
  const [keyField, setKeyField] = useState("");
  const [draft, setDraft] = useState<LimitDraft>(FIRST_LIMIT);

  // A result without them would look as if the service denied nothing now.
  const isReady = stored.data !== undefined && !stored.isLoading;
  const { rules, isComplete } = stored.data ?? NO_RULES;
  const now: readonly RuleInput[] = rules.filter((rule) => rule.dimension === dimension && rule.tier === null);
  const problems = problemsOf(draft);
  const isValid = Object.keys(problems).length === 0;
  const proposed = isValid
    ? [...now.filter((rule) => !isReplaced(rule, draft)), ruleOf(draft, dimension, "proposed")]
    : [];
  const asked = { files, dimension, keyField: keyField.trim() };
  const start = (event: Event): void => {
    event.preventDefault();
    if (isValid && isReady && files.length > 0) run.start({ kind: "replay", ...asked, rules: now, proposed });
  };
  const of = (field: LimitField) => ({
    value: draft[field],
    problem: problems[field],
    onChange: (value: string) => setDraft((before) => ({ ...before, [field]: value })),
  });
  return (
    <div class="screen">
      <ScreenHead title="Replay">
        What a limit would have denied, from your access logs. The files are read in this browser and sent nowhere.
      </ScreenHead>
      <form class="editor" onSubmit={start} autocomplete="off" noValidate>
        <div class="columns">
          <Card title="Log files">
            <DropZone files={files} onChange={setFiles} />
            <div class="fields">
              <SelectField
                label="Count requests per"
                value={dimension}
                options={DIMENSIONS}
                onChange={(value) => setDimension(value === "user" || value === "apikey" ? value : "ip")}
              />
              <TextField
                label="Field of the key"
                value={keyField}
                placeholder={dimension === "ip" ? "the client's address" : "remote_user, account.id…"}
                hint="As named in the log"
                onChange={setKeyField}
              />
            </div>
          </Card>
          <Card title="Proposed limit" note={isSignedIn ? nowText(stored, now.length) : signedOutText(wasLost)}>
            {stored.problem && <ProblemNote problem={stored.problem} retry={stored.reload} />}
            {!isComplete && (
              <Note tone="warning">Only the first {countText(rules.length)} rules of the service are compared.</Note>
            )}
            <div class="fields">
              <TextField label="Path" {...of("path")} />
              <TextField label="Requests" isNumber {...of("limit")} />
              <TextField label="Per, in seconds" isNumber {...of("windowSeconds")} />
              <SelectField
                label="Algorithm"
                options={RATE_ALGORITHMS.map((name) => [name, name.replaceAll("_", " ")] as const)}
                {...of("algorithm")}
              />
              {fieldsOf(draft.algorithm).some(({ name }) => name === "burst") && (
                <TextField label="Burst" isNumber hint="Default: the limit" {...of("burst")} />
              )}
            </div>
          </Card>
        </div>
        <div class="editor-actions">
          <button type="submit" class="button is-primary" disabled={files.length === 0 || !isReady}>
            Replay
          </button>
          {run.share !== undefined && (
            <>
              <progress aria-label="Progress" value={run.share} max={1} />
              <span class="number">{shareText(run.share, 1)}</span>
              <button type="button" class="button is-small" onClick={run.stop}>
                Stop
              </button>
            </>
          )}
        </div>
      </form>
      {run.failure !== undefined && (
        <div class="note-box is-bad" role="alert">
          <strong>The files could not be replayed</strong>
          <span>{run.failure}</span>
        </div>
      )}
      {run.result?.files
        .filter(({ badLines }) => badLines > 0)
        .map(({ name, badLines, lines, shownBadLines: [first] }) => (
          <Note key={name} tone="warning">
            <strong>{`${countText(badLines)} of ${countText(lines)} lines of ${name} were skipped`}</strong>
            {first && <span>{`Line ${first.line} ${first.problem}`}</span>}
          </Note>
        ))}
      {run.result === undefined && run.share === undefined && run.failure === undefined && (
        <Card>
          <Empty title="Nothing replayed yet">
            Drop an access log of nginx, Apache, Caddy, Envoy or CloudFront, or JSON lines or CSV, plain or gzip.
          </Empty>
        </Card>
      )}
      {run.result && (
        <ReplayResults
          result={run.result}
          hasNow={now.length > 0}
          onKey={(key) => run.start({ kind: "timeline", ...asked, rules: proposed, key })}
        />
      )}
      {run.timeline && <KeyTimelineCard timeline={run.timeline} onClose={run.closeTimeline} />}
    </div>
  );
}

/** The proposal takes the place of rules for the same path. */
function isReplaced({ endpoint_pattern }: RuleInput, { path }: LimitDraft): boolean {
  return endpoint_pattern === path.trim();
}

function signedOutText(wasLost: boolean): string {
  return `${wasLost ? "Your session has ended. " : ""}Sign in to compare it with the rules of the service`;
}

function nowText({ data, problem }: Loaded<LoadedRules>, rules: number): string {
  if (data === undefined) return problem === undefined ? "Loading the rules of the service…" : "Not compared";
  if (rules === 0) return "No rule of the service applies to such keys";
  if (rules === 1) return "Compared with the one rule of the service that applies to such keys";
  return `Compared with the ${countText(rules)} rules of the service that apply to such keys`;
}
