import type { KeyTimeline } from "headgate-simulator";
import { useEffect, useRef } from "preact/hooks";
import { Chart } from "../../ui/chart.tsx";
import { countText, timeText, waitText } from "../../ui/format.ts";
import { Badge, Card } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";

/** More rows would not be read; the plot has all. */
const MOST_ROWS = 200;

/** The requests of one key, as the proposal decides them. */
export function KeyTimelineCard({
  timeline,
  onClose,
}: {
  readonly timeline: KeyTimeline;
  readonly onClose: () => void;
}) {
  const { key, entries, more } = timeline;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView();
    place.current?.focus();
  }, [timeline]);
  const denied = entries.filter(({ allowed }) => !allowed).length;
  return (
    <div ref={place} tabIndex={-1}>
      <Card
        title={`Requests of ${key}`}
        note={`${countText(entries.length)} requests, ${countText(denied)} denied as proposed${more > 0 ? `; ${countText(more)} later ones are not shown` : ""}`}
        actions={
          <button type="button" class="button is-small" onClick={onClose}>
            Close
          </button>
        }
      >
        <Chart
          height={160}
          times={entries.map(({ time }) => time / 1_000_000)}
          series={[
            {
              name: "Left",
              color: "accent",
              values: entries.map(({ rules }) =>
                rules.length === 0 ? null : Math.min(...rules.map(({ remaining }) => remaining)),
              ),
              isFilled: true,
              isStepped: true,
            },
          ]}
          summary={`Quota left of ${key} over time`}
        />
        <ul class="legend">
          <li class="is-accent">Quota left after each request</li>
        </ul>
        <Scroll label={`Requests of ${key}`} isBox>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Decision</th>
                <th scope="col" class="is-number">
                  Left
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.slice(0, MOST_ROWS).map(({ time, allowed, rules }, i) => (
                <tr key={`${time} ${i}`}>
                  <td>{timeText(time / 1000)}</td>
                  <td>
                    <Badge tone={allowed ? "good" : "bad"}>{allowed ? "Admitted" : "Denied"}</Badge>{" "}
                    {!allowed && (
                      <span class="muted">
                        {`for ${waitText(Math.max(...rules.map(({ retryAfter }) => retryAfter)) / 1000)}`}
                      </span>
                    )}
                  </td>
                  <td class="is-number">{rules.map(({ remaining }) => countText(remaining)).join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Card>
    </div>
  );
}
