import type { SeriesReport } from "headgate-simulator";
import { countText, dateText } from "../../ui/format.ts";
import { Card } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";

const HOUR_US = 3_600_000_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
/** Share of the colour, in percent: with more, the numbers could not be read in both themes. */
const STRONGEST = 50;
/** The latest days; more rows would not be read. */
const MOST_DAYS = 31;

/** Denied requests, hour by day, in the time zone of the browser. */
export function HeatMap({ hours }: { readonly hours: SeriesReport }) {
  const days = byDay(hours);
  const most = Math.max(1, ...days.flatMap(([, counts]) => counts.map(({ denied }) => denied)));
  return (
    <Card title="Denied by hour and day" note="As proposed, in your time zone" isFlush>
      <Scroll label="Denied by hour and day">
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">Day</th>
              {HOURS.map((hour) => (
                <th scope="col" key={hour}>
                  {hour}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.slice(-MOST_DAYS).map(([day, counts]) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                {counts.map(({ denied, requests }, hour) => (
                  // Hours have no other identity than their place.
                  <td
                    key={HOURS[hour]}
                    style={{ "--heat": `${Math.round((denied / most) * STRONGEST)}%` }}
                    class={requests === 0 ? "is-idle" : ""}
                    title={`${denied} of ${requests} denied`}
                  >
                    {denied > 0 ? (
                      countText(denied)
                    ) : (
                      <span class="visually-hidden">{requests > 0 ? "0" : "none"}</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

interface HourCount {
  denied: number;
  requests: number;
}

function byDay({ start, width, admitted, denied }: SeriesReport): [string, HourCount[]][] {
  const days = new Map<string, HourCount[]>();
  for (const [i, count] of denied.entries()) {
    const time = new Date((start + i * width) / 1000);
    const day = dateText(time.getTime());
    const counts = days.get(day) ?? HOURS.map(() => ({ denied: 0, requests: 0 }));
    days.set(day, counts);
    const hour = counts[time.getHours()];
    hour.denied += count;
    hour.requests += count + admitted[i];
  }
  return width === HOUR_US ? [...days] : [];
}
