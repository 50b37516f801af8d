import { useMemo, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { LivePicture, TopDenied, UsageSummary } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { linkTo } from "../../router.ts";
import { DecisionsChart, PERIODS } from "../../ui/decisions-chart.tsx";
import { countText, DIMENSION_NAMES, rateText, shareText, sum } from "../../ui/format.ts";
import { Badge, Card, Empty, ScreenHead, Segments, Stat, Waiting, WithData } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { evenly } from "../../ui/usage-series.ts";
import { NodeList } from "./node-list.tsx";
import { useLive } from "./use-live.ts";
import "./overview.css";

const RELOAD_MS = 15_000;

/** What the service does now, and what it did in the last hour or the last 30 days. */
export function Overview() {
  const live = useLive();
  const [period, setPeriod] = useState<"minute" | "day">("minute");
  const usage = useLoaded(
    (signal) => api.get<UsageSummary>(`/api/v1/usage/summary?period=${period}&limit=12`, signal),
    [period],
    RELOAD_MS,
  );
  const denied = useLoaded((signal) => api.get<TopDenied>("/api/v1/top-denied?limit=10", signal), [], RELOAD_MS);

  return (
    <div class="screen">
      <ScreenHead title="Overview" actions={<Connection {...live} />}>
        All nodes together, now and over time.
      </ScreenHead>
      {live.picture === undefined ? <Waiting /> : <Figures picture={live.picture} />}
      <Card
        title="Decisions"
        note="All rules together"
        actions={<Segments label="Period" value={period} options={PERIODS} onChange={setPeriod} />}
      >
        <WithData of={usage}>{(data) => <Decisions usage={data} />}</WithData>
      </Card>
      <div class="columns wide-first">
        <Card title="Rules by trouble" note="Most denials first" isFlush>
          <WithData of={usage}>{(data) => <Trouble usage={data} />}</WithData>
        </Card>
        <Card title="Most denied keys" note="This hour and the one before" isFlush>
          <WithData of={denied}>{(data) => <MostDenied denied={data} />}</WithData>
        </Card>
      </div>
      <NodeList nodes={live.picture?.nodes ?? []} />
    </div>
  );
}

function Connection({
  isConnected,
  picture,
}: {
  readonly isConnected: boolean;
  readonly picture: LivePicture | undefined;
}) {
  if (!isConnected)
    return (
      <Badge tone={picture === undefined ? "plain" : "warning"} hasDot>
        Connecting…
      </Badge>
    );
  if (picture?.complete === false)
    return (
      <Badge tone="warning" hasDot>
        Some figures are missing
      </Badge>
    );
  return (
    <Badge tone="good" hasDot>
      Live
    </Badge>
  );
}

function Figures({ picture }: { readonly picture: LivePicture }) {
  const { allowed, denied, shadow_denied, candidate_denied, unmatched, sources, nodes } = picture;
  const byTrial = shadow_denied + candidate_denied;
  const checks = allowed + denied;
  const decided = sum(Object.values(sources));
  const failing = nodes.filter(({ store }) => store === "unreachable" || store === "partial").length;
  return (
    <dl class="stats" aria-label="Now">
      <Stat label="Checks" note={unmatched > 0 ? `${rateText(unmatched)}/s match no rule` : "all nodes"}>
        {rateText(checks)} <small>/s</small>
      </Stat>
      <Stat label="Denied" note={`${shareText(denied, checks)} of checks`}>
        <span class={denied > 0 ? "is-denied" : ""}>{rateText(denied)}</span> <small>/s</small>
      </Stat>
      <Stat label="Denied by trial" note="would be denied if enforced">
        <span class={byTrial > 0 ? "is-trial" : ""}>{rateText(byTrial)}</span> <small>/s</small>
      </Stat>
      <Stat label="Decided by" note={<SourceShares sources={sources} total={decided} />}>
        {decided === 0 ? "–" : mainSource(sources)}
      </Stat>
      <Stat label="Breaker" note={storeNote(picture)}>
        {breakerState(picture, failing)}
      </Stat>
      <Stat label="Nodes" note={nodes.length === 0 ? "starting" : `version ${nodes[0].version}`}>
        {countText(nodes.length)}
      </Stat>
    </dl>
  );
}

function breakerState({ nodes }: LivePicture, failing: number) {
  if (failing > 0) return <span class="is-denied">Open</span>;
  return nodes.every(({ store }) => store === "memory") ? "–" : "Closed";
}

function SourceShares({ sources, total }: { readonly sources: LivePicture["sources"]; readonly total: number }) {
  const others = Object.entries(sources).filter(([, rate]) => rate > 0);
  if (total === 0) return <>no decisions now</>;
  return <>{others.map(([name, rate]) => `${name} ${shareText(rate, total)}`).join(", ")}</>;
}

function mainSource(sources: LivePicture["sources"]): string {
  const [[name]] = Object.entries(sources).sort(([, a], [, b]) => b - a);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function storeNote({ nodes }: LivePicture): string {
  const failing = nodes.filter(({ store }) => store === "unreachable" || store === "partial").length;
  if (failing > 0) return `on ${failing} of ${nodes.length} nodes: fallback decides`;
  return nodes.every(({ store }) => store === "memory") ? "counters are in memory" : "the store answers";
}

function Decisions({ usage }: { readonly usage: UsageSummary }) {
  const series = useMemo(() => evenly(usage, usage.total), [usage]);
  if (sum(series.allowed) + sum(series.denied) + sum(series.byTrial) === 0) {
    return (
      <Empty title="Nothing was decided in this time">
        As soon as checks match a rule, this shows how many are allowed and denied.
      </Empty>
    );
  }
  return <DecisionsChart series={series} period={usage.period} about={`Decisions from ${usage.from} to ${usage.to}`} />;
}

function Trouble({ usage }: { readonly usage: UsageSummary }) {
  if (usage.rules.length === 0) {
    return (
      <Empty
        title="No rule has decided anything"
        actions={
          <a class="button" href="#/rules">
            See the rules
          </a>
        }
      >
        Rules appear here once checks match them.
      </Empty>
    );
  }
  return (
    <Scroll label="Rules">
      <table>
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">Over time</th>
            <th scope="col" class="is-number">
              Denied
            </th>
            <th scope="col" class="is-number only-wide">
              By trial
            </th>
            <th scope="col" class="is-number only-wide">
              Allowed
            </th>
          </tr>
        </thead>
        <tbody>
          {usage.rules.map(({ rule_id, ...series }) => {
            const { allowed, denied, byTrial } = evenly(usage, series);
            const all = sum(allowed) + sum(denied);
            return (
              <tr key={rule_id}>
                <th scope="row">
                  <a href={linkTo(["rules", rule_id])}>{rule_id}</a>
                </th>
                <td>
                  <Sparkline allowed={allowed} denied={denied} label={`${sum(denied)} of ${all} denied`} />
                </td>
                <td class="is-number">
                  {countText(sum(denied))} <span class="muted">{shareText(sum(denied), all)}</span>
                </td>
                <td class="is-number only-wide">{countText(sum(byTrial))}</td>
                <td class="is-number only-wide">{countText(sum(allowed))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function MostDenied({ denied }: { readonly denied: TopDenied }) {
  if (denied.keys.length === 0) {
    return (
      <Empty title="No key was denied">Keys that run into a limit are listed here, with the way to find out why.</Empty>
    );
  }
  return (
    <Scroll label="Keys">
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col" class="is-number">
              Denied
            </th>
          </tr>
        </thead>
        <tbody>
          {denied.keys.map(({ dimension, identifier, denied: count, error }) => (
            <tr key={`${dimension} ${identifier}`}>
              <th scope="row" class="key">
                <a href={linkTo(["why"], { dimension, identifier })}>{identifier}</a>{" "}
                <span class="muted">{DIMENSION_NAMES[dimension]}</span>
              </th>
              <td class="is-number">
                {error > 0 && <span class="muted">up to </span>}
                {countText(count)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
