import { useMemo, useRef } from "preact/hooks";
import { countText } from "../../../ui/format.ts";
import { UsageScale } from "./usage-scale.ts";

/** From here on, a label in the middle of its place would be cut off. */
const LATE_TICK = 0.96;

/** How many keys used how much, with the limit as a line that can be dragged. */
export function UsageDistribution({
  peaks,
  limit,
  inForce,
  keyName,
  windowName,
  onLimit,
}: {
  /** The largest usage of each key. */
  readonly peaks: readonly number[];
  readonly limit: number;
  readonly inForce: number;
  /** Such as `user`. */
  readonly keyName: string;
  /** Such as `minute`. */
  readonly windowName: string;
  readonly onLimit: (limit: number) => void;
}) {
  const area = useRef<HTMLDivElement>(null);
  const largest = useMemo(() => peaks.reduce((most, peak) => Math.max(most, peak), inForce), [peaks, inForce]);
  const scale = useMemo(() => new UsageScale(largest), [largest]);
  const bars = useMemo(() => scale.bars(peaks), [scale, peaks]);
  const tallest = bars.reduce((most, { count }) => Math.max(most, count), 1);
  const shown = bars.filter(({ count }) => count > 0);
  const above = peaks.filter((peak) => peak > limit).length;

  const drag = (event: PointerEvent): void => {
    const { current } = area;
    if (current === null || !current.hasPointerCapture(event.pointerId)) return;
    const { left, width } = current.getBoundingClientRect();
    onLimit(scale.limitAt((event.clientX - left) / width));
  };
  const grab = (event: PointerEvent): void => {
    // Without the selection of text.
    event.preventDefault();
    area.current?.setPointerCapture(event.pointerId);
    area.current?.querySelector<HTMLElement>("[role=slider]")?.focus();
    drag(event);
  };
  const press = (event: KeyboardEvent): void => {
    const step = Math.max(1, Math.round(limit * (event.key.startsWith("Page") ? 0.1 : 0.01)));
    const next = {
      ArrowRight: limit + step,
      ArrowUp: limit + step,
      PageUp: limit + step,
      ArrowLeft: limit - step,
      ArrowDown: limit - step,
      PageDown: limit - step,
      Home: 1,
      End: scale.max,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onLimit(Math.max(1, next));
  };
  return (
    <figure class="distribution">
      <figcaption>
        {sentence(keyName)}s by the most units they used in any {windowName}
      </figcaption>
      <div class="distribution-area" ref={area} onPointerDown={grab} onPointerMove={drag}>
        <span class="distribution-most" aria-hidden="true">
          {countText(tallest)} {tallest === 1 ? keyName : `${keyName}s`}
        </span>
        {shown.map(({ from, to, count }) => (
          <div
            key={from}
            class={from > limit ? "bar is-above" : "bar"}
            title={`${unitsText(from, to)}: ${countText(count)}`}
            style={{
              left: percent(scale.placeOf(from)),
              width: percent(scale.placeOf(to) - scale.placeOf(from)),
              height: percent(count / tallest),
            }}
          />
        ))}
        <div class="line is-in-force" style={{ left: percent(scale.placeOfLimit(inForce)) }} aria-hidden="true" />
        <div
          class={scale.placeOfLimit(limit) > 0.7 ? "line is-late" : "line"}
          role="slider"
          tabIndex={0}
          aria-label="Limit"
          aria-orientation="horizontal"
          aria-valuemin={1}
          aria-valuemax={Math.max(scale.max, limit)}
          aria-valuenow={limit}
          aria-valuetext={`${limit}: ${above} of ${peaks.length} ${keyName}s used more`}
          style={{ left: percent(scale.placeOfLimit(limit)) }}
          onKeyDown={press}
        >
          <span class="handle" />
          <span class="line-label">{countText(limit)}</span>
        </div>
      </div>
      <div class="distribution-axis" aria-hidden="true">
        {scale.ticks().map((units) => {
          const place = (scale.placeOf(units) + scale.placeOf(units + 1)) / 2;
          return (
            <span key={units} class={place > LATE_TICK ? "is-late" : ""} style={{ left: percent(place) }}>
              {countText(units)}
            </span>
          );
        })}
      </div>
      <p class="muted distribution-note">
        <span class="swatch is-in-force" /> in force: {countText(inForce)}. Drag the line, or use the arrow keys. How
        many of the {keyName}s to the right of it are denied depends on the algorithm and the burst.
      </p>
    </figure>
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`;
}

function unitsText(from: number, to: number): string {
  return to - from === 1 ? countText(from) : `${countText(from)} to ${countText(to - 1)}`;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
