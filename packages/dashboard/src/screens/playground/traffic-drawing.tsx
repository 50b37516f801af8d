import { useRef } from "preact/hooks";
import { MOST_RATE, STEP_MS } from "./playground-state.ts";

const WIDTH = 600;
const HEIGHT = 140;

/** Traffic as bars that can be drawn with a pointer, or changed with the arrow keys. */
export function TrafficDrawing({
  rates,
  onChange,
}: {
  readonly rates: readonly number[];
  readonly onChange: (rates: readonly number[]) => void;
}) {
  const drawing = useRef<SVGSVGElement>(null);
  const width = WIDTH / rates.length;
  const set = (step: number, rate: number): void => {
    const bounded = Math.min(MOST_RATE, Math.max(0, Math.round(rate)));
    if (rates[step] !== bounded) onChange(rates.with(step, bounded));
  };
  const draw = (event: PointerEvent): void => {
    const box = drawing.current?.getBoundingClientRect();
    if (box === undefined || event.buttons === 0) return;
    const step = Math.floor(((event.clientX - box.left) / box.width) * rates.length);
    if (step < 0 || step >= rates.length) return;
    set(step, (1 - (event.clientY - box.top) / box.height) * MOST_RATE);
  };
  return (
    <svg
      ref={drawing}
      class="traffic"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      onPointerDown={(event) => {
        drawing.current?.setPointerCapture(event.pointerId);
        draw(event);
      }}
      onPointerMove={draw}
    >
      <title>Requests per second, drawn over a minute</title>
      {rates.map((rate, i) => {
        const height = Math.max(2, (rate / MOST_RATE) * HEIGHT);
        const seconds = (i * STEP_MS) / 1000;
        return (
          <rect
            // Steps have no other identity than their place.
            key={seconds}
            x={i * width + 1}
            y={HEIGHT - height}
            width={width - 2}
            height={height}
            rx="2"
            role="slider"
            tabindex={0}
            aria-label={`Requests per second, ${seconds} to ${seconds + STEP_MS / 1000} s`}
            aria-valuemin={0}
            aria-valuemax={MOST_RATE}
            aria-valuenow={rate}
            onKeyDown={(event) => {
              const change = { ArrowUp: 1, ArrowDown: -1, ArrowRight: 1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[
                event.key
              ];
              if (change === undefined) return;
              event.preventDefault();
              set(i, rate + change);
            }}
          />
        );
      })}
    </svg>
  );
}
