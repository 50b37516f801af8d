import type { ClientReport, ReplayReport, RuleReport, RuleSetReport } from "../replay/replay-report.ts";
import type { SeriesReport } from "../replay/time-series.ts";
import { clientsTable } from "./clients-table.ts";
import { countText, durationText, shareText, timeText } from "./figures.ts";
import type { ReportNames } from "./report-text.ts";

/** What a page says besides the report itself. */
export interface ReportPage extends ReportNames {
  readonly title: string;
  /** Sentences above the report, such as where the traffic comes from. */
  readonly notes?: readonly string[];
}

/** A report as one HTML page that loads nothing. */
export function reportHtml(report: ReplayReport, page: ReportPage): string {
  const { title, notes = [], rules, against: otherName = "the other rules" } = page;
  const { from, to, keys, late, against, changes, requests, clients } = report;
  const span = from === undefined || to === undefined ? "" : `${timeText(from)} to ${timeText(to)} UTC`;
  const facts = [
    ["requests", countText(requests)],
    ["keys", countText(keys)],
    ...deniedFacts(report, keys, against === undefined ? "" : ` by ${rules}`),
    ...(against === undefined ? [] : deniedFacts(against, keys, ` by ${otherName}`)),
    ...(changes === undefined
      ? []
      : [
          ["newly denied", `${countText(changes.newlyDenied)} of ${countText(changes.newlyDeniedKeys)} keys`],
          ["newly admitted", `${countText(changes.newlyAdmitted)} of ${countText(changes.newlyAdmittedKeys)} keys`],
        ]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(span)}</p>
${notes.map((note) => `<p>${escaped(note)}</p>`).join("\n")}
${late > 0 ? `<p>${countText(late)} requests were too late to be put in order of time.</p>` : ""}
<dl>${facts.map(([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${value}</dd></div>`).join("")}</dl>
${ruleSet(report, keys, rules)}
${clients === undefined ? "" : clientsSection(clients)}
${against === undefined ? "" : ruleSet(against, keys, otherName)}
</main>
</body>
</html>
`;
}

function deniedFacts({ denied, requests, deniedKeys }: RuleSetReport, keys: number, by: string): string[][] {
  return [
    [`denied${by}`, `${countText(denied)} (${shareText(denied, requests)})`],
    [`denied keys${by}`, `${countText(deniedKeys)} (${shareText(deniedKeys, keys)})`],
  ];
}

function clientsSection(clients: readonly ClientReport[]): string {
  const [header, rows] = clientsTable(clients);
  return `<section>
<h2>Clients</h2>
${table(
  header,
  rows.map((row) => row.map(escaped)),
)}
</section>`;
}

function ruleSet(set: RuleSetReport, keys: number, name: string): string {
  const { requests, admitted, denied, deniedKeys } = set;
  const total = { rule: "all requests", mode: "enforce" as const, requests, admitted, denied, keys, deniedKeys };
  const rows = [...set.rules, total].map((row) => [
    ruleText(row),
    countText(row.requests),
    countText(row.admitted),
    countText(row.denied),
    shareText(row.denied, row.requests),
    countText(row.keys),
    countText(row.deniedKeys),
    shareText(row.deniedKeys, row.keys),
  ]);
  return `<section>
<h2>${escaped(name)}</h2>
${seriesPlot(set.series)}
${table(["rule", "requests", "admitted", "denied", "share", "keys", "denied keys", "share"], rows)}
${set.unlimited > 0 ? `<p>No enforced rule applies to ${countText(set.unlimited)} of the requests.</p>` : ""}
${set.rules.map(ruleSection).join("\n")}
</section>`;
}

function ruleSection(rule: RuleReport): string {
  const { hitFirst, worstMinute, topDenied } = rule;
  const facts = [
    ...hitFirst.slice(0, 1).map(({ key, time }) => `Hit first: <code>${escaped(key)}</code> at ${timeText(time)}.`),
    ...(worstMinute === undefined
      ? []
      : [
          `Worst minute: ${timeText(worstMinute.time)}, ${countText(worstMinute.denied)} of ` +
            `${countText(worstMinute.requests)} requests denied.`,
        ]),
  ];
  const rows = topDenied.map((key) => [
    `<code>${escaped(key.key)}</code>`,
    countText(key.requests),
    countText(key.admitted),
    countText(key.denied),
    timeText(key.firstDeniedAt),
    durationText(key.shutOut),
  ]);
  const keysTable = table(["key", "requests", "admitted", "denied", "first denied", "shut out"], rows);
  return `<article>
<h3>${ruleText(rule)}</h3>
${peakPlot(rule)}
${facts.map((fact) => `<p>${fact}</p>`).join("\n")}
${rows.length > 0 ? `<h4>Keys with most denied requests</h4>${keysTable}` : "<p>Nothing was denied.</p>"}
</article>`;
}

/** The name of a rule, and how it was applied unless it was enforced. */
function ruleText({ rule, mode }: Pick<RuleReport, "rule" | "mode">): string {
  return `${escaped(rule)}${mode === "enforce" ? "" : ` <small>${mode}</small>`}`;
}

const [WIDTH, HEIGHT, BOTTOM] = [800, 160, 30];

/** Requests over time: admitted below, denied on top. */
function seriesPlot({ start, width, admitted, denied }: SeriesReport): string {
  const totals = admitted.map((count, i) => count + denied[i]);
  const most = totals.reduce((largest, total) => (total > largest ? total : largest), 1);
  const each = WIDTH / Math.max(1, totals.length);
  const bars = totals.map((total, i) => {
    const [x, top] = [i * each, (HEIGHT * total) / most];
    const lower = (HEIGHT * admitted[i]) / most;
    const told = `${timeText(start + i * width)}: ${countText(admitted[i])} admitted, ${countText(denied[i])} denied`;
    return (
      `<g><title>${told}</title>${bar("admitted", x, HEIGHT - lower, each, lower)}` +
      `${denied[i] > 0 ? bar("denied", x, HEIGHT - top, each, top - lower) : ""}</g>`
    );
  });
  const end = start + totals.length * width;
  return `<figure>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT + BOTTOM}" role="img" aria-label="Requests over time">
${bars.join("\n")}
<text x="0" y="${HEIGHT + 22}">${timeText(start)}</text>
<text x="${WIDTH}" y="${HEIGHT + 22}" text-anchor="end">${timeText(end)}</text>
</svg>
<figcaption>Requests per ${durationText(width)}, at most ${countText(most)}: <i class="admitted"></i> admitted
<i class="denied"></i> denied</figcaption>
</figure>`;
}

/** Keys by the largest share of the limit that they used, on a logarithmic scale. */
function peakPlot({ peakUsage, deniedKeys }: RuleReport): string {
  const classes = [...peakUsage, deniedKeys];
  const scale = Math.log1p(Math.max(1, ...classes));
  const each = WIDTH / classes.length;
  const bars = classes.map((count, i) => {
    const isDenied = i === peakUsage.length;
    const height = (HEIGHT * Math.log1p(count)) / scale;
    const label = isDenied ? "denied" : `${(i + 1) * 10} %`;
    const middle = (i + 0.5) * each;
    return (
      bar(isDenied ? "denied" : "admitted", i * each + 4, HEIGHT - height + 24, each - 8, height) +
      `<text x="${middle}" y="${rounded(HEIGHT - height + 19)}" text-anchor="middle">${countText(count)}</text>` +
      `<text x="${middle}" y="${HEIGHT + 46}" text-anchor="middle">${label}</text>`
    );
  });
  return `<figure>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 52}" role="img" aria-label="Keys by peak usage of the limit">
${bars.join("\n")}
</svg>
<figcaption>Keys by the largest share of the limit that they used (logarithmic)</figcaption>
</figure>`;
}

function bar(kind: string, x: number, y: number, width: number, height: number): string {
  const [left, top, wide, high] = [x, y, Math.max(width, 0.5), height].map(rounded);
  return `<rect class="${kind}" x="${left}" y="${top}" width="${wide}" height="${high}"/>`;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string): string => row.map((cell) => `<${tag}>${cell}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
  return `<div class="table"><table><thead><tr>${cells(header, "th")}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Names and keys come from files and logs. Control characters are shown, not passed on. */
function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ENTITIES[character])
    .replace(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

const STYLE = `
:root { --text: #1c2128; --back: #fff; --line: #d8dee4; --soft: #57606a; --admitted: #4c8fd6; --denied: #d1453b; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --back: #12161c; --line: #30363d; --soft: #9aa4af; --admitted: #4c8fd6; --denied: #e5645b; }
}
body { margin: 0; color: var(--text); background: var(--back); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
dl { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; }
dt { color: var(--soft); }
dd { margin: 0; font-size: 1.3rem; }
figure { margin: 1rem 0; }
figcaption, small { color: var(--soft); }
figcaption i { display: inline-block; width: 0.8em; height: 0.8em; }
svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
rect { shape-rendering: crispEdges; }
rect.admitted { fill: var(--admitted); }
rect.denied { fill: var(--denied); }
i.admitted { background: var(--admitted); }
i.denied { background: var(--denied); }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.75rem 0.25rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { min-width: 8rem; text-align: left; white-space: normal; overflow-wrap: anywhere; }
@media (max-width: 40rem) { svg text { font-size: 23px; } }
`;
