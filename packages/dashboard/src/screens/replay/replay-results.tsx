import type { FilesReplay, RuleReport, RuleSetReport } from "headgate-simulator";
import { Chart } from "../../ui/chart.tsx";
import { countText, durationText, keysText, shareText, timeText } from "../../ui/format.ts";
import { Card, Empty, Stat } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { HeatMap } from "./heat-map.tsx";

const US = 1_000_000;

/** What the rules of now and the proposal did with the traffic, side by side. */
export function ReplayResults({
  result: { report },
  hasNow,
  onKey,
}: {
  readonly result: FilesReplay;
  readonly hasNow: boolean;
  readonly onKey: (key: string) => void;
}) {
  const proposed = report.against ?? report;
  const { changes } = report;
  if (report.requests === 0) {
    return (
      <Card>
        <Empty title="The files have no requests">Check the format and the field of the key.</Empty>
      </Card>
    );
  }
  const span = report.from === undefined || report.to === undefined ? "" : spanText(report.from, report.to);
  return (
    <>
      <dl class="stats" aria-label="Result">
        <Stat label="Requests" note={`${keysText(report.keys)} ${span}`}>
          {countText(report.requests)}
        </Stat>
        <Stat label="Denied now" note={hasNow ? keysText(report.deniedKeys) : "no rule applies"}>
          {shareText(report.denied, report.requests)}
        </Stat>
        <Stat label="Denied as proposed" note={keysText(proposed.deniedKeys)}>
          <span class={proposed.denied > 0 ? "is-denied" : ""}>{shareText(proposed.denied, proposed.requests)}</span>
        </Stat>
        <Stat label="Newly denied" note={keysText(changes?.newlyDeniedKeys ?? 0)}>
          {countText(changes?.newlyDenied ?? 0)}
        </Stat>
        <Stat label="Newly admitted" note={keysText(changes?.newlyAdmittedKeys ?? 0)}>
          {countText(changes?.newlyAdmitted ?? 0)}
        </Stat>
      </dl>
      <div class="columns">
        <OverTime title="Now" report={report} />
        <OverTime title="Proposed" report={proposed} />
      </div>
      <HeatMap hours={proposed.hours} />
      {proposed.rules
        .filter(({ denied }) => denied > 0)
        .map((rule) => (
          <DeniedKeys key={`${rule.mode} ${rule.rule}`} rule={rule} onKey={onKey} />
        ))}
      {proposed.denied === 0 && (
        <Card>
          <Empty title="The proposal denies nothing">A lower limit would still have room to be useful.</Empty>
        </Card>
      )}
    </>
  );
}

function spanText(from: number, to: number): string {
  return `in ${durationText(Math.max(1, (to - from) / US))}`;
}

function OverTime({ title, report }: { readonly title: string; readonly report: RuleSetReport }) {
  const { start, width, admitted, denied } = report.series;
  const times = admitted.map((_, i) => (start + i * width) / US);
  return (
    <Card title={title} note={`${countText(report.denied)} denied of ${countText(report.requests)}`}>
      <Chart
        height={180}
        times={times}
        series={[
          { name: "Admitted", color: "allowed", values: admitted, isFilled: true },
          { name: "Denied", color: "denied", values: denied, isFilled: true },
        ]}
        summary={`${title}: ${report.admitted} admitted, ${report.denied} denied`}
      />
      <ul class="legend">
        <li class="is-allowed">Admitted</li>
        <li class="is-denied">Denied</li>
      </ul>
    </Card>
  );
}

function DeniedKeys({ rule, onKey }: { readonly rule: RuleReport; readonly onKey: (key: string) => void }) {
  const name = rule.mode === "enforce" ? rule.rule : `${rule.rule} (${rule.mode})`;
  return (
    <Card title={`Denied most by ${name}`} note={`${countText(rule.deniedKeys)} of ${keysText(rule.keys)}`} isFlush>
      <Scroll label={`Keys denied by ${name}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" class="is-number">
                Denied
              </th>
              <th scope="col" class="is-number only-wide">
                Requests
              </th>
              <th scope="col" class="is-number">
                Shut out for
              </th>
              <th scope="col" class="only-wide">
                First denied
              </th>
            </tr>
          </thead>
          <tbody>
            {rule.topDenied.map(({ key, denied, requests, shutOut, firstDeniedAt }) => (
              <tr key={key}>
                <th scope="row" class="key">
                  <button type="button" class="link" onClick={() => onKey(key)}>
                    {key}
                  </button>
                </th>
                <td class="is-number">
                  {countText(denied)} <span class="muted only-wide">{shareText(denied, requests)}</span>
                </td>
                <td class="is-number only-wide">{countText(requests)}</td>
                <td class="is-number">{durationText(shutOut / US)}</td>
                <td class="only-wide">{timeText(firstDeniedAt / 1000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
