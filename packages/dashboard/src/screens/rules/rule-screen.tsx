import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { loadRules } from "../../api/load-rules.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import { useMay } from "../../api/session.ts";
import type { RateLimitRule, RuleWarnings, UsageSeries, UsageSummary, UserPage } from "../../api/types.ts";
import { type Loaded, useLoaded } from "../../api/use-loaded.ts";
import { linkTo, navigate } from "../../router.ts";
import { DecisionsChart, PERIODS } from "../../ui/decisions-chart.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { DIMENSION_NAMES, shareText, timeText } from "../../ui/format.ts";
import { Badge, Card, Empty, Note, ProblemNote, ScreenHead, Segments, WithData } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { evenly } from "../../ui/usage-series.ts";
import { isSlots } from "./rule-draft.ts";
import { EditRule } from "./rule-editor.tsx";
import { algorithmText, candidateText, ruleLimitText, windowText } from "./rule-text.ts";
import { LimitTrial } from "./trial/limit-trial.tsx";

interface LoadedRule {
  readonly rule: RateLimitRule;
  readonly etag: string | undefined;
}

/** One rule: its definition, its decisions, other limits to try, users with limits of their own, and changes to it. */
export function RuleScreen({ ruleId }: { readonly ruleId: string }) {
  const path = `/api/v1/rules/${encodeURIComponent(ruleId)}`;
  const loaded = useLoaded(
    async (signal): Promise<LoadedRule> => {
      const { body, headers } = await api.send<RateLimitRule>(path, { signal });
      return { rule: body, etag: headers.get("etag") ?? undefined };
    },
    [ruleId],
  );
  return (
    <div class="screen">
      <p>
        <a href="#/rules">← All rules</a>
      </p>
      {loaded.data === undefined && <h1>{ruleId}</h1>}
      <WithData of={loaded}>{(data) => <Rule {...data} reload={loaded.reload} />}</WithData>
    </div>
  );
}

function Rule({ rule, etag, reload }: LoadedRule & { readonly reload: () => void }) {
  const mayWrite = useMay("write");
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const warnings = useLoaded((signal) => api.get<RuleWarnings>("/api/v1/rule-warnings", signal), [rule.version]);
  const own = warnings.data?.warnings.filter(({ rule_ids }) => rule_ids.includes(rule.rule_id)) ?? [];
  const actions = mayWrite && !isEditing && (
    <>
      <button type="button" class="button is-danger" onClick={() => setDeleting(true)}>
        Delete
      </button>
      <button type="button" class="button is-primary" onClick={() => setEditing(true)}>
        Edit
      </button>
    </>
  );
  return (
    <>
      <ScreenHead title={rule.name} actions={actions}>
        <Badge tone={rule.mode === "shadow" ? "warning" : "good"}>
          {rule.mode === "shadow" ? "Shadow" : "Enforced"}
        </Badge>{" "}
        {ruleLimitText(rule)} per {DIMENSION_NAMES[rule.dimension]} on <code>{rule.endpoint_pattern}</code>
      </ScreenHead>
      {own.map(({ message }) => (
        <Note key={message} tone="warning">
          {message}
        </Note>
      ))}
      {isEditing ? (
        <EditRule
          stored={rule}
          etag={etag}
          onDone={() => {
            setEditing(false);
            reload();
          }}
        />
      ) : (
        <>
          {isSlots(rule.algorithm) ? <Slots /> : <Usage ruleId={rule.rule_id} />}
          {!isSlots(rule.algorithm) && <LimitTrial key={rule.version} rule={rule} etag={etag} onChanged={reload} />}
          <div class="columns">
            <Definition rule={rule} />
            <OtherLimits rule={rule} />
          </div>
        </>
      )}
      {isDeleting && <DeleteDialog rule={rule} etag={etag} onClose={() => setDeleting(false)} />}
    </>
  );
}

/** Checks do not take slots, so there are no decisions to show. */
function Slots() {
  return (
    <Card title="Slots">
      <Empty
        title="Slots are taken by reservations"
        actions={
          <a class="button" href={linkTo(["reservations"])}>
            Show reservations
          </a>
        }
      >
        Each reservation that this rule matches uses one slot until it is settled, released, or expires.
      </Empty>
    </Card>
  );
}

interface Usages {
  readonly usage: Pick<UsageSummary, "period" | "from" | "to" | "starts">;
  readonly series: UsageSeries;
}

interface RollupPage {
  readonly period: "minute" | "day";
  readonly from: string;
  readonly to: string;
  readonly rollups: readonly ({ readonly start: string } & Readonly<Record<keyof UsageSeries, number>>)[];
}

function Usage({ ruleId }: { readonly ruleId: string }) {
  const [period, setPeriod] = useState<"minute" | "day">("minute");
  const loaded: Loaded<Usages> = useLoaded(
    async (signal) => {
      const query = new URLSearchParams({ period, rule_id: ruleId });
      const page = await api.get<RollupPage>(`/api/v1/usage?${query}`, signal);
      const { rollups } = page;
      return {
        usage: { ...page, starts: rollups.map(({ start }) => start) },
        series: {
          allowed: rollups.map(({ allowed }) => allowed),
          denied: rollups.map(({ denied }) => denied),
          shadow_denied: rollups.map(({ shadow_denied }) => shadow_denied),
          candidate_denied: rollups.map(({ candidate_denied }) => candidate_denied),
        },
      };
    },
    [period, ruleId],
    15_000,
  );
  return (
    <Card title="Decisions" actions={<Segments label="Period" value={period} options={PERIODS} onChange={setPeriod} />}>
      <WithData of={loaded}>
        {({ usage, series }) => {
          if (usage.starts.length === 0) {
            return <Empty title="It decided nothing in this time">No check has matched it, or none was made.</Empty>;
          }
          return <DecisionsChart series={evenly(usage, series)} period={period} height={180} />;
        }}
      </WithData>
    </Card>
  );
}

function Definition({ rule }: { readonly rule: RateLimitRule }) {
  const rows: readonly (readonly [string, string])[] = [
    ["ID", rule.rule_id],
    ["Methods", rule.methods?.join(", ") ?? "all"],
    ["Tier", rule.tier ?? "all without a rule of their own"],
    ["Algorithm", algorithmText(rule)],
    ["Window", windowText(rule)],
    ...(rule.enforce_share === null
      ? []
      : [["Enforced for", `${shareText(rule.enforce_share, 1)} of the keys`] as const]),
    ...(rule.candidate === null ? [] : [["On trial", candidateText(rule, rule.candidate)] as const]),
    ["While the store fails", rule.on_error],
    ["Consistency", rule.consistency],
    ["Changed", `${timeText(rule.updated_at)}, version ${rule.version}`],
  ];
  return (
    <Card title="Definition" actions={<a href={linkTo(["history"], { subject: `rule:${rule.rule_id}` })}>History</a>}>
      <dl class="definition">
        {rows.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
      </dl>
    </Card>
  );
}

/** Rules of other tiers for the same requests, and users with limits of their own. */
function OtherLimits({ rule }: { readonly rule: RateLimitRule }) {
  const loaded = useLoaded(
    async (signal) => {
      const [{ rules, isComplete }, { users, next }] = await Promise.all([
        loadRules(signal),
        api.get<UserPage>("/api/v1/users?limit=1000", signal),
      ]);
      const siblings = rules.filter(
        ({ rule_id, dimension, endpoint_pattern }) =>
          rule_id !== rule.rule_id && dimension === rule.dimension && endpoint_pattern === rule.endpoint_pattern,
      );
      const limits = users.flatMap(({ user_id, custom_limits, overrides }) => [
        ...overrides
          .filter(({ rule_id }) => rule_id === null || rule_id === rule.rule_id)
          .map(({ limit, expires_at, reason }) => ({
            user_id,
            limit,
            note: `override until ${timeText(expires_at)}: ${reason}`,
          })),
        ...(rule.rule_id in custom_limits
          ? [{ user_id, limit: custom_limits[rule.rule_id].limit, note: "custom limit" }]
          : []),
      ]);
      return { siblings, limits, isComplete: isComplete && next === undefined };
    },
    [rule.rule_id, rule.version],
  );
  return (
    <Card title="Tiers and overrides" isFlush>
      <WithData of={loaded}>
        {({ siblings, limits, isComplete }) =>
          siblings.length + limits.length === 0 ? (
            <Empty title="The same limit for all">
              No other tier has a rule for this path, and no user has a custom limit or an override.
            </Empty>
          ) : (
            <Scroll label="Limits">
              <table>
                <thead>
                  <tr>
                    <th scope="col">For</th>
                    <th scope="col" class="is-number">
                      Limit
                    </th>
                    <th scope="col">From</th>
                  </tr>
                </thead>
                <tbody>
                  {siblings.map(({ rule_id, tier, ...sibling }) => (
                    <tr key={rule_id}>
                      <th scope="row">{tier === null ? "All other tiers" : `Tier ${tier}`}</th>
                      <td class="is-number">{ruleLimitText(sibling)}</td>
                      <td>
                        <a href={linkTo(["rules", rule_id])}>{rule_id}</a>
                      </td>
                    </tr>
                  ))}
                  {limits.slice(0, 50).map(({ user_id, limit, note }) => (
                    <tr key={`${user_id} ${note}`}>
                      <th scope="row">
                        <a
                          href={linkTo(["why"], {
                            dimension: "user",
                            identifier: user_id,
                            endpoint: rule.endpoint_pattern,
                          })}
                        >
                          {user_id}
                        </a>
                      </th>
                      <td class="is-number">{ruleLimitText(rule, limit)}</td>
                      <td class="muted">{note}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {(!isComplete || limits.length > 50) && <p class="muted more-rules">Only the first ones are listed.</p>}
            </Scroll>
          )
        }
      </WithData>
    </Card>
  );
}

function DeleteDialog({ rule, etag, onClose }: LoadedRule & { readonly onClose: () => void }) {
  const [problem, setProblem] = useState<ApiProblem>();
  const remove = async (): Promise<void> => {
    try {
      const headers = etag === undefined ? {} : { "if-match": etag };
      await api.send(`/api/v1/rules/${encodeURIComponent(rule.rule_id)}`, { method: "DELETE", headers });
      navigate("#/rules");
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <Dialog title={`Delete ${rule.name}?`} onClose={onClose}>
      <p>
        Requests that it matches are no longer limited by it, on all nodes within a second. Custom limits and overrides
        of users for this rule are removed too.
      </p>
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button is-danger" onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
