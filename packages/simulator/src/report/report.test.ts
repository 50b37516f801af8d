import { fixedWindow } from "headgate";
import { describe, expect, it } from "vitest";
import { replay } from "../replay/replay.ts";
import type { ReplayReport } from "../replay/replay-report.ts";
import { durationText, shareText, timeText } from "./figures.ts";
import { reportHtml } from "./report-html.ts";
import { reportJson } from "./report-json.ts";
import { reportText } from "./report-text.ts";

const NASTY = `<script>alert("x")</script>'&\u001b[31m\u202e`;

const CONTROLS = ["\u001b", "\u202e"];

async function nastyReport(): Promise<ReplayReport> {
  const rules = { enforced: [{ rule: { name: NASTY, limit: fixedWindow("1/m") } }], shadow: [] };
  const requests = [0, 1, 2].map((i) => ({ time: i * 1_000_000, key: NASTY, path: NASTY, method: "GET", cost: 1 }));
  return replay(requests, () => rules, { against: () => rules });
}

describe("what comes from logs and files", () => {
  it("is escaped on the page, which loads and runs nothing", async () => {
    const html = reportHtml(await nastyReport(), { title: NASTY, rules: NASTY, against: NASTY, notes: [NASTY] });
    for (const raw of ["<script", 'alert("', ...CONTROLS]) expect(html).not.toContain(raw);
    expect(html).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;\\u001b[31m\\u202e");
    expect(html).not.toMatch(/\b(src|href)=|url\(|@import|https?:/);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain("prefers-color-scheme: dark");
  });

  it("cannot control the terminal", async () => {
    const text = reportText(await nastyReport(), { rules: NASTY, against: NASTY });
    for (const control of CONTROLS) expect(text).not.toContain(control);
    expect(text).toContain("\\u001b[31m");
  });
});

it("the page says which rules denied how much", async () => {
  const requests = [0, 1, 2].map((i) => ({ time: i * 1_000_000, key: "a", path: "/", method: "GET", cost: 1 }));
  const rulesFor = (limit: `${number}/m`) => () => ({
    enforced: [{ rule: { name: "api", limit: fixedWindow(limit) } }],
    shadow: [],
  });
  const both = await replay(requests, rulesFor("2/m"), { against: rulesFor("1/m") });
  const html = reportHtml(both, { title: "x", rules: "now.yaml", against: "new.yaml" });
  expect(html).toContain("<dt>denied by now.yaml</dt><dd>1 (33.3 %)</dd>");
  expect(html).toContain("<dt>denied by new.yaml</dt><dd>2 (66.7 %)</dd>");
  const one = reportHtml(await replay(requests, rulesFor("2/m")), { title: "x", rules: "now.yaml" });
  expect(one).toContain("<dt>denied</dt><dd>1 (33.3 %)</dd>");
});

it("as JSON, a report has times in ISO 8601 and durations in seconds", async () => {
  const report = reportJson(await nastyReport());
  expect(report).toMatchObject({
    from: "1970-01-01T00:00:00.000Z",
    to: "1970-01-01T00:00:02.000Z",
    keys: 1,
    requests: 3,
    denied: 2,
    denied_share: 2 / 3,
    worst_minute: { time: "1970-01-01T00:00:00.000Z", requests: 3, denied: 2 },
    series: { start: "1970-01-01T00:00:00.000Z", width: 1, admitted: [1, 0, 0], denied: [0, 1, 1] },
    rules: [{ mode: "enforce", top_denied: [{ denied: 2, shut_out: 1, first_denied_at: "1970-01-01T00:00:01.000Z" }] }],
    changes: { newly_denied: 0 },
  });
  expect(reportJson(await replay([], () => ({ enforced: [], shadow: [] })))).toMatchObject({ from: null, requests: 0 });
});

it("a report without requests says so", async () => {
  const report = await replay([], () => ({ enforced: [], shadow: [] }));
  expect(reportText(report, { rules: "x" })).toBe("No requests.\n");
  expect(reportHtml(report, { title: "x", rules: "x" })).toContain("<dd>0</dd>");
});

it.each([
  [0, "0 s"],
  [500, "< 1 ms"],
  [1_500, "1 ms"],
  [2_500_000, "2 s"],
  [90_000_000, "1 min 30 s"],
  [3_600_000_000, "1 h"],
  [90_061_000_000, "1 d 1 h"],
])("%d microseconds are %s", (duration, text) => {
  expect(durationText(duration)).toBe(text);
});

it.each([
  [0, 10, "0 %"],
  [5, 0, "0 %"],
  [1, 3, "33.3 %"],
  [1, 12_345, "0.0081 %"],
  [9_999, 10_000, "> 99.9 %"],
  [10, 10, "100 %"],
])("%d of %d are %s", (part, whole, text) => {
  expect(shareText(part, whole)).toBe(text);
});

it("times are in UTC", () => {
  expect(timeText(1_767_225_600_999_999)).toBe("2026-01-01 00:00:00");
});
