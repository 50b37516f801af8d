import type { Explanation, LimitAnswer } from "../../api/types.ts";
import { Chart } from "../../ui/chart.tsx";
import { countText, limitText, waitText } from "../../ui/format.ts";
import { Badge, Card, type Tone } from "../../ui/parts.tsx";
import type { Earlier } from "./earlier-levels.ts";
import { allLimits, HISTORY_MS, levelsOf, limitName, type Seen } from "./level-history.ts";

const STATES: Readonly<Record<LimitAnswer["state"], readonly [Tone, string]>> = {
  normal: ["good", "Normal"],
  warning: ["warning", "Warning"],
  throttled: ["bad", "Throttled"],
};
const ORIGINS: Readonly<Record<LimitAnswer["origin"], string>> = {
  rule: "the rule's limit",
  tier: "the tier's limit",
  custom: "a custom limit",
  override: "an override",
};

/** Labels are a minute apart, or five if there is no room. */
const MINUTES = [60, HISTORY_MS / 1000];

/** How much of each limit is in use, now and in the last minutes. */
export function Levels({
  explanation,
  seen,
  earlier,
}: {
  readonly explanation: Explanation;
  readonly seen: readonly Seen[];
  readonly earlier: readonly Earlier[];
}) {
  const all = allLimits(explanation);
  if (all.length === 0) return null;
  return (
    <div class="levels">
      {all.map((limit) => (
        <Level
          key={limitName(limit)}
          limit={limit}
          isShadow={explanation.answer.shadow_limits?.includes(limit) ?? false}
          seen={seen}
          note={earlier.find((each) => limitName(each.limit) === limitName(limit))?.note}
        />
      ))}
    </div>
  );
}

function Level({
  limit,
  isShadow,
  seen,
  note,
}: {
  readonly limit: LimitAnswer;
  readonly isShadow: boolean;
  readonly seen: readonly Seen[];
  /** Where earlier levels come from, or why there are none. */
  readonly note: string | undefined;
}) {
  const { name, current_count, remaining, retry_after_ms, allowed, state, source, degraded, origin } = limit;
  const capacity = Math.max(1, limit.burst, current_count + remaining);
  const share = Math.min(1, current_count / capacity);
  const [tone, text] = STATES[state];
  const { times, used: levels } = levelsOf(seen, limit);
  const used = `${countText(current_count)} of ${countText(capacity)} in use`;
  return (
    <Card
      title={name}
      note={`${limitText(limit.limit, limit.window_seconds)}, ${limit.candidate ? "the candidate of the rule" : ORIGINS[origin]}`}
      actions={
        <>
          {isShadow && <Badge tone="warning">{limit.candidate ? "On trial" : "Shadow"}</Badge>}
          <Badge tone={tone}>{text}</Badge>
        </>
      }
    >
      <div>
        <p class="level-figures">
          <strong class="number">{used}</strong>
          <span class="muted">{allowed ? `${countText(remaining)} left after it` : nextText(retry_after_ms)}</span>
        </p>
        <div class="meter" aria-hidden="true">
          <div class={share >= 1 ? "is-bad" : share >= 0.8 ? "is-warning" : ""} style={{ width: `${share * 100}%` }} />
        </div>
      </div>
      <Chart
        height={120}
        times={times}
        from={-HISTORY_MS / 1000}
        to={0}
        xText={agoText}
        xSteps={MINUTES}
        series={[
          {
            name: "In use",
            color: "accent",
            values: levels,
            isFilled: true,
            isStepped: true,
          },
        ]}
        summary={used}
      />
      <p class="muted">
        Decided by the {source}
        {degraded && ", without the store: this may be inaccurate"}
      </p>
      {note !== undefined && <p class="muted">{note}</p>}
    </Card>
  );
}

function nextText(retryAfterMs: number): string {
  return retryAfterMs < 0 ? "never passes: the cost exceeds the limit" : `passes in ${waitText(retryAfterMs)}`;
}

function agoText(seconds: number): string {
  return seconds === 0 ? "now" : `${seconds / 60} min`;
}
