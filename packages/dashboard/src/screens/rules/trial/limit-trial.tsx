import { useState } from "preact/hooks";
import { useMay } from "../../../api/session.ts";
import type { RateLimitRule } from "../../../api/types.ts";
import { TextField } from "../../../ui/field.tsx";
import { countText, DIMENSION_NAMES, durationText, shareText, timeText } from "../../../ui/format.ts";
import { Card, Empty, Note, Segments, Stat, Waiting, WithData } from "../../../ui/parts.tsx";
import { fieldsOf, inputOf, RATE_ALGORITHMS } from "../rule-draft.ts";
import { candidateText } from "../rule-text.ts";
import { SaveDialog } from "../save-dialog.tsx";
import type { Candidate } from "./recording-messages.ts";
import { UsageDistribution } from "./usage-distribution.tsx";
import { useRecordedReplay } from "./use-recorded-replay.ts";
import { type Recording, useRecording } from "./use-recording.ts";
import "./trial.css";

/** A limit to try: on what was recorded, at once, and as a trial of the rule, from now on. */
export function LimitTrial({
  rule,
  etag,
  onChanged,
}: {
  readonly rule: RateLimitRule;
  readonly etag: string | undefined;
  readonly onChanged: () => void;
}) {
  const recording = useRecording(rule.rule_id);
  const [candidate, setCandidate] = useState<Candidate>(() => firstCandidate(rule));
  const mayWrite = useMay("write");
  return (
    <Card
      title="Try another limit"
      note="What it would have denied, according to the recording. A trial counts from now on and denies nothing."
      actions={
        <button type="button" class="button is-small" onClick={recording.reload}>
          Reload the recording
        </button>
      }
    >
      {rule.candidate !== null && <OnTrial rule={rule} candidate={rule.candidate} />}
      <div class="trial">
        <WithData of={recording}>
          {(data) => (
            <Recorded
              rule={rule}
              recording={data}
              candidate={candidate}
              onLimit={(limit) => setCandidate({ ...candidate, limit })}
            />
          )}
        </WithData>
        <div class="trial-controls">
          <CandidateFields rule={rule} candidate={candidate} onChange={setCandidate} />
          {mayWrite && <TrialActions rule={rule} etag={etag} candidate={candidate} onChanged={onChanged} />}
        </div>
      </div>
    </Card>
  );
}

/** The trial that is on, or else the limit in force. */
function firstCandidate({ candidate, limit, algorithm, burst }: RateLimitRule): Candidate {
  if (candidate === null) return { limit, algorithm, burst, window_seconds: null };
  return { ...candidate, algorithm: candidate.algorithm ?? algorithm };
}

function OnTrial({ rule, candidate }: { readonly rule: RateLimitRule; readonly candidate: Candidate }) {
  return (
    <Note tone="warning">
      <span>
        <strong>On trial:</strong> {candidateText(rule, candidate)}. What it denies is reported as denied by trial.
      </span>
    </Note>
  );
}

function Recorded({
  rule,
  recording,
  candidate,
  onLimit,
}: {
  readonly rule: RateLimitRule;
  readonly recording: Recording;
  readonly candidate: Candidate;
  readonly onLimit: (limit: number) => void;
}) {
  const { traffic, denials, isBusy, failure } = useRecordedReplay(rule, recording, candidate);
  const { entries, isOn } = recording;
  if (!isOn) return <RecordingOff />;
  if (entries.length === 0) {
    return (
      <Empty title="Nothing has been recorded under this rule">
        One in {countText(recording.oneIn)} identities is recorded. Make some checks, then reload the recording.
      </Empty>
    );
  }
  if (traffic === undefined) return failure === undefined ? <Waiting /> : <Note tone="bad">{failure}</Note>;
  const keyName = DIMENSION_NAMES[rule.dimension];
  const { inForce, peaks } = traffic;
  const shown = denials ?? inForce;
  return (
    <div class="recorded">
      <UsageDistribution
        peaks={peaks}
        limit={candidate.limit}
        inForce={rule.limit}
        keyName={keyName}
        windowName={windowName(rule, candidate)}
        onLimit={onLimit}
      />
      {failure !== undefined && <Note tone="bad">{failure}</Note>}
      <dl class="stats" aria-label="Would be denied" aria-live="polite" aria-busy={isBusy}>
        <Stat
          label={`${keyName === "user" ? "Users" : `${keyName}s`} denied`}
          note={`of ${countText(shown.keys)}; in force ${countText(inForce.deniedKeys)}`}
        >
          <span class={shown.deniedKeys > 0 ? "is-denied" : ""}>{countText(shown.deniedKeys)}</span>
        </Stat>
        <Stat
          label="Requests denied"
          note={`${countText(shown.denied)} of ${countText(shown.requests)}; in force ${shareText(inForce.denied, inForce.requests)}`}
        >
          <span class={shown.denied > 0 ? "is-denied" : ""}>{shareText(shown.denied, shown.requests)}</span>
        </Stat>
      </dl>
      <p class="muted">
        <strong>This node only:</strong> checks that other nodes answered are not included. {sourceText(recording)}
      </p>
    </div>
  );
}

function sourceText({ entries, oneIn, processes, hasMore }: Recording): string {
  const times = entries.map(({ time }) => time);
  const from = times.reduce((first, time) => Math.min(first, time), Number.POSITIVE_INFINITY);
  const to = times.reduce((last, time) => Math.max(last, time), 0);
  const who = oneIn === 1 ? "All identities are" : `One in ${countText(oneIn)} identities is`;
  const where = processes === 1 ? "one recording" : `${countText(processes)} recordings`;
  const which = hasMore ? "The latest requests" : "Requests";
  return `${which} from ${timeText(from / 1000)} to ${timeText(to / 1000)}, in ${where}. ${who} recorded. Requests that other rules denied, custom limits and overrides are not considered.`;
}

function RecordingOff() {
  return (
    <Empty title="This node does not record">
      Start it with <code>--record recordings</code> and a secret in <code>HEADGATE_RECORD_SECRET</code>. It then keeps
      what one in 100 identities do, hashed, and shows here what another limit would have denied. A trial needs no
      recording.
    </Empty>
  );
}

function windowName({ window_seconds, calendar }: RateLimitRule, candidate: Candidate): string {
  const seconds = candidate.window_seconds ?? window_seconds;
  if (seconds === null) return calendar ?? "window";
  return WINDOW_NAMES[seconds] ?? durationText(seconds);
}

const WINDOW_NAMES: Readonly<Partial<Record<number, string>>> = {
  1: "second",
  60: "minute",
  3600: "hour",
  86400: "day",
};

function CandidateFields({
  rule,
  candidate,
  onChange,
}: {
  readonly rule: RateLimitRule;
  readonly candidate: Candidate;
  readonly onChange: (candidate: Candidate) => void;
}) {
  const { limit, burst } = candidate;
  const algorithm = candidate.algorithm ?? rule.algorithm;
  const hasBurst = fieldsOf(algorithm).some(({ name }) => name === "burst");
  return (
    <>
      <NumberField label="Limit" value={limit} onChange={(limit) => onChange({ ...candidate, limit })} />
      {/* The others have no calendar. */}
      {rule.calendar === null && (
        <div class="field">
          <span class="label">Algorithm</span>
          <Segments
            label="Algorithm"
            value={algorithm}
            options={RATE_ALGORITHMS.map((name) => [name, name.replaceAll("_", " ")] as const)}
            onChange={(chosen) => {
              const keepsBurst = fieldsOf(chosen).some(({ name }) => name === "burst");
              onChange({ ...candidate, algorithm: chosen, burst: keepsBurst ? burst : null });
            }}
          />
        </div>
      )}
      {hasBurst && (
        <div class="field">
          <span class="label">Burst</span>
          <Segments
            label="Burst"
            value={burst === null ? "limit" : "own"}
            options={[
              ["limit", "as the limit"],
              ["own", "another"],
            ]}
            onChange={(kind) => onChange({ ...candidate, burst: kind === "own" ? limit : null })}
          />
          {burst !== null && (
            <NumberField
              label="Burst units"
              value={burst}
              onChange={(units) => onChange({ ...candidate, burst: units })}
            />
          )}
        </div>
      )}
    </>
  );
}

/** An input for whole numbers. Anything else is shown with the reason, and changes nothing. */
function NumberField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}) {
  const [typed, setTyped] = useState<string>();
  const text = typed ?? String(value);
  const isValid = /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER;
  return (
    <TextField
      label={label}
      isNumber
      value={isValid ? String(value) : text}
      problem={isValid ? undefined : "must be a whole number of at least 1"}
      onChange={(given) => {
        const units = Number(given);
        const isUsable = /^[1-9]\d{0,15}$/.test(given) && units <= Number.MAX_SAFE_INTEGER;
        setTyped(isUsable ? undefined : given);
        if (isUsable) onChange(units);
      }}
    />
  );
}

function TrialActions({
  rule,
  etag,
  candidate,
  onChanged,
}: {
  readonly rule: RateLimitRule;
  readonly etag: string | undefined;
  readonly candidate: Candidate;
  readonly onChanged: () => void;
}) {
  const [next, setNext] = useState<{ readonly candidate: Candidate | null }>();
  const { candidate: present } = rule;
  const stated = { ...candidate, algorithm: candidate.algorithm === rule.algorithm ? null : candidate.algorithm };
  const isSame = JSON.stringify(comparable(stated)) === JSON.stringify(present === null ? null : comparable(present));
  return (
    <div class="trial-actions">
      {rule.mode === "enforce" && candidate.limit > rule.limit && (
        <p class="hint">
          A trial counts only requests that the rule in force admits, so a trial of a larger limit says little.
        </p>
      )}
      <div class="actions">
        {present !== null && (
          <button type="button" class="button" onClick={() => setNext({ candidate: null })}>
            End the trial
          </button>
        )}
        <button
          type="button"
          class="button is-primary"
          disabled={isSame}
          onClick={() => setNext({ candidate: stated })}
        >
          {present === null ? "Start a trial" : "Change the trial"}
        </button>
      </div>
      {next !== undefined && (
        <SaveDialog
          title={
            next.candidate === null ? `End the trial of ${rule.name}?` : `Put this limit on trial for ${rule.name}?`
          }
          before={rule}
          after={{ ...inputOf(rule), candidate: next.candidate }}
          etag={etag}
          onClose={() => setNext(undefined)}
          onSaved={() => {
            setNext(undefined);
            onChanged();
          }}
        />
      )}
    </div>
  );
}

function comparable({ limit, algorithm, burst, window_seconds }: Candidate): readonly unknown[] {
  return [limit, algorithm, burst, window_seconds];
}
