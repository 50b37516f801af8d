import { useMemo, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { type LoadedRules, loadRules } from "../../api/load-rules.ts";
import { useMay } from "../../api/session.ts";
import type { RateLimitRule, RuleUsage, RuleWarning, RuleWarnings, UsageSummary } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { linkTo, type Route } from "../../router.ts";
import { countText, DIMENSION_NAMES } from "../../ui/format.ts";
import { Badge, Card, Empty, Note, ScreenHead, WithData } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { deniedText, evenly } from "../../ui/usage-series.ts";
import { NewRule } from "./rule-editor.tsx";
import { RuleScreen } from "./rule-screen.tsx";
import { algorithmText, ruleLimitText } from "./rule-text.ts";
import "./rules.css";

/** More would make the page slow; the search narrows them down. */
const MOST_SHOWN = 100;

/** All rules, one rule, or a new one. */
export function Rules({ route }: { readonly route: Route }) {
  const [, ruleId] = route.parts;
  if (ruleId !== undefined) return <RuleScreen key={ruleId} ruleId={ruleId} />;
  return route.query.has("new") ? <NewRule /> : <RuleList />;
}

interface ListedRules extends LoadedRules {
  readonly warnings: readonly RuleWarning[];
}

async function loadListed(signal: AbortSignal): Promise<ListedRules> {
  const loaded = await loadRules(signal);
  const { warnings } = await api.get<RuleWarnings>("/api/v1/rule-warnings", signal);
  return { ...loaded, warnings };
}

function RuleList() {
  const mayWrite = useMay("write");
  const [search, setSearch] = useState("");
  const loaded = useLoaded(loadListed, []);
  const usage = useLoaded((signal) => api.get<UsageSummary>("/api/v1/usage/summary?limit=200", signal), [], 30_000);
  const create = mayWrite && (
    <a class="button is-primary" href={linkTo(["rules"], { new: "1" })}>
      New rule
    </a>
  );
  return (
    <div class="screen">
      <ScreenHead title="Rules" actions={create}>
        Who may do what, and how often. A request must pass every rule that matches it.
      </ScreenHead>
      <WithData of={loaded}>
        {({ rules, warnings, isComplete }) =>
          rules.length === 0 ? (
            <Card>
              <Empty title="There are no rules yet" actions={create}>
                Without a rule nothing is limited. Start with one for a path, in shadow mode if you want to see first
                what it would deny.
              </Empty>
            </Card>
          ) : (
            <>
              {warnings.length > 0 && <Warnings warnings={warnings} />}
              <div class="field rule-search">
                <label for="rule-search">Search</label>
                <input
                  id="rule-search"
                  type="search"
                  placeholder="Name, path, tier…"
                  value={search}
                  onInput={(event) => setSearch(event.currentTarget.value)}
                />
              </div>
              {!isComplete && <Note tone="warning">Only the first {countText(rules.length)} rules are listed.</Note>}
              <RuleTable rules={rules} search={search} usage={usage.data} warnings={warnings} />
            </>
          )
        }
      </WithData>
    </div>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly RuleWarning[] }) {
  return (
    <details class="note-box is-warning">
      <summary>
        <strong>
          {warnings.length === 1 ? "One rule overlaps with another" : `${warnings.length} rules overlap with others`}
        </strong>
      </summary>
      <ul class="warnings">
        {warnings.slice(0, MOST_SHOWN).map(({ rule_ids: [id], message }) => (
          <li key={message}>
            <a href={linkTo(["rules", id])}>{id}</a>
            {message.slice(message.startsWith(id) ? id.length : 0)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function RuleTable({
  rules,
  search,
  usage,
  warnings,
}: {
  readonly rules: readonly RateLimitRule[];
  readonly search: string;
  readonly usage: UsageSummary | undefined;
  readonly warnings: readonly RuleWarning[];
}) {
  const words = search.toLowerCase().split(/\s+/);
  const found = useMemo(
    () => rules.filter((rule) => words.every((word) => searchText(rule).includes(word))),
    [rules, search],
  );
  const byRule = useMemo(() => new Map(usage?.rules.map((each) => [each.rule_id, each])), [usage]);
  const warned = new Set(warnings.map(({ rule_ids: [id] }) => id));
  if (found.length === 0) {
    return (
      <Card>
        <Empty title="No rule matches">Search for parts of names, IDs, paths, tiers, methods or algorithms.</Empty>
      </Card>
    );
  }
  return (
    <Card isFlush>
      <Scroll label="Rules">
        <table>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col" class="only-wide">
                Applies to
              </th>
              <th scope="col" class="only-wide">
                Limit
              </th>
              <th scope="col">Last hour</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, MOST_SHOWN).map((rule) => (
              <tr key={rule.rule_id}>
                <th scope="row">
                  <a href={linkTo(["rules", rule.rule_id])}>{rule.name}</a>
                  <code class="only-narrow">{pathText(rule)}</code>
                  <span class="only-narrow rule-limit">{ruleLimitText(rule)}</span>
                  <div class="tags">
                    <span class="muted">{rule.rule_id}</span>
                    {rule.mode === "shadow" && <Badge tone="warning">Shadow</Badge>}
                    {rule.candidate !== null && <Badge tone="warning">On trial</Badge>}
                    {rule.tier !== null && <Badge tone="info">{rule.tier}</Badge>}
                    {warned.has(rule.rule_id) && <Badge tone="warning">Overlaps</Badge>}
                  </div>
                </th>
                <td class="only-wide">
                  <code>{pathText(rule)}</code>
                  <div class="muted">per {DIMENSION_NAMES[rule.dimension]}</div>
                </td>
                <td class="only-wide">
                  <span class="number">{ruleLimitText(rule)}</span>
                  <div class="muted">{algorithmText(rule)}</div>
                </td>
                <td>
                  <LastHour usage={usage} series={byRule.get(rule.rule_id)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {found.length > MOST_SHOWN && (
        <p class="muted more-rules">
          {countText(found.length - MOST_SHOWN)} more rules match. Search to narrow them down.
        </p>
      )}
    </Card>
  );
}

function pathText({ methods, endpoint_pattern }: RateLimitRule): string {
  return methods === null ? endpoint_pattern : `${methods.join(", ")} ${endpoint_pattern}`;
}

function LastHour({
  usage,
  series,
}: {
  readonly usage: UsageSummary | undefined;
  readonly series: RuleUsage | undefined;
}) {
  if (usage === undefined || series === undefined) return <span class="muted">no decisions</span>;
  const { allowed, denied } = evenly(usage, series);
  const text = deniedText(series);
  return (
    <>
      <Sparkline allowed={allowed} denied={denied} label={text} />
      <span class="muted">{text}</span>
    </>
  );
}

function searchText({
  rule_id,
  name,
  endpoint_pattern,
  tier,
  dimension,
  methods,
  algorithm,
  mode,
}: RateLimitRule): string {
  return [rule_id, name, endpoint_pattern, tier, dimension, methods, algorithm, mode].join(" ").toLowerCase();
}
