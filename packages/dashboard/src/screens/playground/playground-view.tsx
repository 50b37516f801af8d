import { type AlgorithmRun, compareAlgorithms, drawnTraffic, limitOfEach, type TimedCost } from "headgate-simulator";
import { useMemo } from "preact/hooks";
import { SliderField } from "../../ui/field.tsx";
import { countText, shareText } from "../../ui/format.ts";
import { Badge, Card, Empty, Segments } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { DecisionStrip } from "./decision-strip.tsx";
import { BOUNDS, MOST_RATE, PATTERNS, type PatternName, type PlaygroundState, STEP_MS } from "./playground-state.ts";
import { TrafficDrawing } from "./traffic-drawing.tsx";

const SEED = 1;
const BYTES_PER_NUMBER = 8;
const PATTERN_OPTIONS = Object.entries(PATTERNS).map(([name, { title }]) => [name, title] as [PatternName, string]);

/** The algorithms side by side, on the same traffic. It needs no service. */
export function PlaygroundView({
  state,
  onChange,
}: {
  readonly state: PlaygroundState;
  readonly onChange: (state: PlaygroundState) => void;
}) {
  const { limit, windowSeconds, burst, cost, rates, isRandom } = state;
  const requests = useMemo(
    () => drawnTraffic({ rates, stepMs: STEP_MS, cost, seed: isRandom ? SEED : undefined }),
    [rates, cost, isRandom],
  );
  const runs = useMemo(
    () => compareAlgorithms(limitOfEach({ limit, windowMs: windowSeconds * 1000, burst }), requests),
    [limit, windowSeconds, burst, requests],
  );
  const pattern = PATTERN_OPTIONS.find(([name]) => PATTERNS[name].rates.join() === rates.join())?.[0];
  const set = (change: Partial<PlaygroundState>): void => onChange({ ...state, ...change });
  return (
    <>
      <div class="columns wide-first">
        <Card
          title="Traffic"
          note={`${countText(requests.length)} requests of one key in a minute. Draw your own: a bar is ${STEP_MS / 1000} seconds of up to ${MOST_RATE} requests per second.`}
        >
          <div class="actions">
            <Segments<PatternName | "own">
              label="Traffic to begin with"
              value={pattern ?? "own"}
              options={pattern === undefined ? [...PATTERN_OPTIONS, ["own", "Drawn"]] : PATTERN_OPTIONS}
              onChange={(name) => name !== "own" && set({ rates: PATTERNS[name].rates })}
            />
            <label class="check">
              <input
                type="checkbox"
                checked={isRandom}
                onChange={(event) => set({ isRandom: event.currentTarget.checked })}
              />
              At random times
            </label>
          </div>
          <TrafficDrawing rates={rates} onChange={(rates) => set({ rates })} />
        </Card>
        <Card title="Limit">
          <Slider name="limit" label="Units per window" state={state} set={set} />
          <Slider name="windowSeconds" label="Window" state={state} set={set} unit=" s" />
          <Slider name="burst" label="Burst" state={state} set={set} hint="For algorithms that have one" />
          <Slider name="cost" label="Cost of a request" state={state} set={set} />
        </Card>
      </div>
      <Results runs={runs} requests={requests} />
    </>
  );
}

function Slider({
  name,
  label,
  state,
  set,
  unit = "",
  hint,
}: {
  readonly name: keyof typeof BOUNDS;
  readonly label: string;
  readonly state: PlaygroundState;
  readonly set: (change: Partial<PlaygroundState>) => void;
  readonly unit?: string;
  readonly hint?: string;
}) {
  const [min, max] = BOUNDS[name];
  const value = state[name];
  return (
    <SliderField
      label={label}
      hint={hint}
      value={value}
      min={min}
      max={max}
      shown={`${value}${unit}`}
      onChange={(value) => set({ [name]: value })}
    />
  );
}

function Results({
  runs,
  requests,
}: {
  readonly runs: readonly AlgorithmRun[];
  readonly requests: readonly TimedCost[];
}) {
  if (requests.length === 0) {
    return (
      <Card>
        <Empty title="No traffic">Draw some above, or choose one to begin with.</Empty>
      </Card>
    );
  }
  const most = Math.max(...runs.map(({ admitted }) => admitted));
  return (
    <Card title="Decisions" note="Every request, from left to right" isFlush>
      <Scroll label="Algorithms">
        <table class="runs">
          <thead>
            <tr>
              <th scope="col">Algorithm</th>
              <th scope="col" class="is-number">
                Admitted
              </th>
              <th scope="col" class="is-number">
                Denied
              </th>
              <th scope="col" class="is-number">
                Memory
              </th>
              <th scope="col" class="only-wide">
                Over time
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => [
              <tr key={run.limit.algorithm}>
                <th scope="row">
                  {run.limit.algorithm.replaceAll("_", " ")}
                  {run.admitted === most && (
                    <div>
                      <Badge tone="info">Admits most</Badge>
                    </div>
                  )}
                </th>
                <td class="is-number">{countText(run.admitted)}</td>
                <td class="is-number">
                  {countText(run.denied)} <span class="muted only-wide">{shareText(run.denied, requests.length)}</span>
                </td>
                <td class="is-number">{countText(run.mostNumbers * BYTES_PER_NUMBER)} B</td>
                <td class="only-wide">
                  <DecisionStrip run={run} requests={requests} />
                </td>
              </tr>,
              <tr key={`${run.limit.algorithm} over time`} class="narrow-row">
                <td colSpan={4}>
                  <DecisionStrip run={run} requests={requests} />
                </td>
              </tr>,
            ])}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
