import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { someDecision } from "../../../test/middleware/some-decision.ts";
import { concurrency, fixedWindow, gcra, type Limit, limitFromSpec, tokenBucket } from "../../index.ts";
import type { Decision } from "../../limiter/decision.ts";
import { Verdict } from "../../limiter/verdict.ts";
import { testLimiter } from "../../testing/index.ts";
import { Policy } from "./policy.ts";
import { type HeaderForm, HeaderWriter, requireForms } from "./response-headers.ts";

const NOW_MS = 1_700_000_000_400;

/** The headers of one response, as lines. */
function lines(forms: HeaderForm | HeaderForm[], rules: Record<string, Limit>, decided: Decision | Verdict): string[] {
  const policies = Object.entries(rules).map(([rule, limit]) => new Policy(rule, limit));
  const writer = new HeaderWriter(requireForms(forms), policies);
  const fields = decided instanceof Verdict ? writer.write(decided.deciding, decided.decisions) : writer.write(decided);
  return fields.map(({ name, value }) => `${name}: ${value}`);
}

function quota(limit: number, remaining: number, resetAfterMs: number): Decision {
  return someDecision({ remaining, resetAfterMs, timeMs: NOW_MS, limit: { ...tokenBucket("1/s"), limit } });
}

function denied(limit: number, remaining: number, retryAfterMs: number, resetAfterMs = retryAfterMs): Decision {
  const numbers = { allowed: false, remaining, retryAfterMs, resetAfterMs, timeMs: NOW_MS };
  return someDecision({ ...numbers, limit: { ...tokenBucket("1/s"), limit } });
}

describe("the newest draft", () => {
  // Its own examples.
  it.each([
    ["default", fixedWindow("100/10s"), quota(100, 50, 30_000), '"default";q=100;w=10', '"default";r=50;t=30'],
    ["basic", fixedWindow("100/m"), quota(100, 60, 58_000), '"basic";q=100;w=60', '"basic";r=60;t=58'],
    [
      "fixedwindow",
      fixedWindow("100/m"),
      quota(100, 99, 50_000),
      '"fixedwindow";q=100;w=60',
      '"fixedwindow";r=99;t=50',
    ],
  ])("writes %s as its examples do", (rule, limit, decided, policy, rateLimit) => {
    expect(lines("draft", { [rule]: limit }, decided)).toEqual([
      `RateLimit-Policy: ${policy}`,
      `RateLimit: ${rateLimit}`,
    ]);
  });

  it("lists every limit of a verdict, in the order asked", () => {
    const decisions = [quota(1_000, 900, 1_800_000), quota(5_000, 100, 36_000_000)];
    const rules = { hour: fixedWindow("1000/h"), day: fixedWindow("5000/d") };
    expect(lines("draft", rules, new Verdict(decisions))).toEqual([
      'RateLimit-Policy: "hour";q=1000;w=3600, "day";q=5000;w=86400',
      'RateLimit: "hour";r=900;t=1800, "day";r=100;t=36000',
    ]);
  });

  it.each([
    ["2026-02-10T12:00Z", 28 * 86_400],
    ["2026-03-10T12:00Z", 31 * 86_400 - 3_600],
    ["2026-11-10T12:00Z", 30 * 86_400],
  ])("states the length of the calendar month that a decision at %s is in", (time, window) => {
    const budget = fixedWindow("100/month", { timeZone: "Europe/Berlin" });
    const decision = someDecision({ remaining: 7, resetAfterMs: 5_000, timeMs: Date.parse(time), limit: budget });
    const rules = { budget };
    expect(lines("draft", rules, decision)).toEqual([
      `RateLimit-Policy: "budget";q=100;w=${window}`,
      'RateLimit: "budget";r=7;t=5',
    ]);
    expect(lines("draft-7", rules, decision)[0]).toBe(`RateLimit-Policy: 100;w=${window}`);
    expect(decision.windowMs).toBe(window * 1_000);
  });

  it("names the unit of slots, which have no window, and no time at which they are free", () => {
    const rules = { jobs: concurrency(8), api: fixedWindow("100/m") };
    const decisions = [quota(8, 3, 60_000), quota(100, 99, 50_000)];
    expect(lines("draft", rules, new Verdict(decisions))).toEqual([
      'RateLimit-Policy: "jobs";q=8;qu="concurrent-requests", "api";q=100;w=60',
      'RateLimit: "jobs";r=3, "api";r=99;t=50',
    ]);
    expect(lines("draft", { jobs: concurrency(8) }, denied(8, 0, 12_000))).toEqual([
      'RateLimit-Policy: "jobs";q=8;qu="concurrent-requests"',
      'RateLimit: "jobs";r=0;t=12',
      "Retry-After: 12",
    ]);
    expect(lines("draft-7", { jobs: concurrency(8) }, quota(8, 3, 0))[0]).toBe("RateLimit-Policy: 8");
  });

  it("escapes names, and encodes what no header can carry", () => {
    expect(lines("draft", { 'my "API" \\ é\r\nX: 1': fixedWindow("1/s") }, quota(1, 0, 10))).toEqual([
      'RateLimit-Policy: "my \\"API\\" \\\\ %C3%A9%0D%0AX: 1";q=1;w=1',
      'RateLimit: "my \\"API\\" \\\\ %C3%A9%0D%0AX: 1";r=0;t=1',
    ]);
  });

  it("reports whole units, rounded down, and seconds, rounded up", () => {
    expect(lines("draft", { api: tokenBucket("100/m") }, quota(100, 41.99, 34_801))[1]).toBe(
      'RateLimit: "api";r=41;t=35',
    );
  });

  it("reports a burst that differs from the limit, in a parameter of our own", () => {
    const [policy] = lines("draft", { api: gcra("100/m", { burst: 20 }) }, quota(100, 19, 600));
    expect(policy).toBe('RateLimit-Policy: "api";q=100;w=60;headgate-burst=20');
  });

  it("rounds a window up to seconds, and keeps numbers to those that a header can hold", () => {
    expect(lines("draft", { api: gcra("10/1500ms") }, quota(10, 9, 150))[0]).toBe('RateLimit-Policy: "api";q=10;w=2');
    const vast = limitFromSpec({ algorithm: "fixed_window", limit: 2 ** 53 - 1, window: 0.1 });
    expect(lines("draft", { vast }, quota(2 ** 53 - 1, 2 ** 53 - 2, 50))).toEqual([
      'RateLimit-Policy: "vast";q=999999999999999;w=1',
      'RateLimit: "vast";r=999999999999999;t=1',
    ]);
  });
});

describe("a header", () => {
  it("is added to that of another gate if it is a list, as only the newest draft has them", () => {
    const lists = (form: HeaderForm) => {
      const policies = [new Policy("api", fixedWindow("1/s"))];
      const fields = new HeaderWriter([form], policies).write(denied(1, 0, 1_000));
      return fields.filter(({ list }) => list).map(({ name }) => name);
    };
    expect(lists("draft")).toEqual(["RateLimit-Policy", "RateLimit"]);
    for (const form of ["draft-7", "draft-6", "legacy-seconds"] as const) expect(lists(form)).toEqual([]);
  });
});

describe("drafts 7 and 6", () => {
  const rules = { api: fixedWindow("100/m") };

  it("are written as their examples are", () => {
    expect(lines("draft-7", { api: fixedWindow("100/10s") }, quota(100, 50, 5_000))).toEqual([
      "RateLimit-Policy: 100;w=10",
      "RateLimit: limit=100, remaining=50, reset=5",
    ]);
    expect(lines("draft-6", rules, quota(100, 60, 58_000))).toEqual([
      "RateLimit-Policy: 100;w=60",
      "RateLimit-Limit: 100",
      "RateLimit-Remaining: 60",
      "RateLimit-Reset: 58",
    ]);
  });

  it("state every policy, and the quota of the one that decided", () => {
    const several = { hour: fixedWindow("1000/h"), day: fixedWindow("5000/d", { anchor: "request" }) };
    const decisions = [quota(1_000, 900, 1_800_000), quota(5_000, 100, 36_000_000)];
    const decided = new Verdict(decisions);
    expect(lines("draft-7", several, decided)).toEqual([
      "RateLimit-Policy: 1000;w=3600, 5000;w=86400",
      "RateLimit: limit=5000, remaining=100, reset=36000",
    ]);
    expect(lines("draft-6", several, decided).slice(0, 2)).toEqual([
      "RateLimit-Policy: 1000;w=3600, 5000;w=86400",
      "RateLimit-Limit: 5000",
    ]);
  });

  it("report a burst as their examples do", () => {
    const [policy] = lines("draft-7", { api: gcra("10/s", { burst: 1000 }) }, quota(10, 9, 100));
    expect(policy).toBe("RateLimit-Policy: 10;w=1;burst=1000");
  });
});

describe("the legacy headers", () => {
  const rules = { api: fixedWindow("100/m") };

  it("have their reset in seconds from now, or as a Unix time, as chosen", () => {
    expect(lines("legacy-seconds", rules, quota(100, 42, 17_200))).toEqual([
      "X-RateLimit-Limit: 100",
      "X-RateLimit-Remaining: 42",
      "X-RateLimit-Reset: 18",
    ]);
    // 17.2 s after …000.4, rounded once: rounding the wait first would give …019.
    expect(lines("legacy-epoch", rules, quota(100, 42, 17_200))[2]).toBe("X-RateLimit-Reset: 1700000018");
    expect(lines("legacy-epoch", rules, quota(100, 42, 17_600))[2]).toBe("X-RateLimit-Reset: 1700000018");
    expect(lines("legacy-epoch", rules, denied(100, 0, 7_600, 17_600))[2]).toBe("X-RateLimit-Reset: 1700000008");
    expect(lines("legacy-epoch", rules, denied(100, 0, Number.POSITIVE_INFINITY, 17_600))[2]).toBe(
      "X-RateLimit-Reset: 1700000018",
    );
  });

  it("can be combined with a draft", () => {
    expect(lines(["draft", "legacy-seconds"], rules, quota(100, 42, 17_200)).map((line) => line.split(":")[0])).toEqual(
      ["RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
    );
  });
});

describe("Retry-After", () => {
  const rules = { burst: gcra("2/s"), day: tokenBucket("100/d") };

  it("is the longest wait of those that refused, in seconds rounded up", () => {
    const { limiter } = testLimiter(rules);
    limiter.penalizeSync("burst", "k", { cost: 2 });
    limiter.penalizeSync("day", "k", { cost: 100 });
    const verdict = limiter.checkAllSync([
      { rule: "burst", key: "k" },
      { rule: "day", key: "k" },
    ]);
    expect(lines("draft", rules, verdict).slice(1)).toEqual([
      'RateLimit: "burst";r=0;t=1, "day";r=0;t=864',
      "Retry-After: 864",
    ]);
  });

  it.each([
    [1, 1],
    [1_000, 1],
    [1_000.001, 2],
    [59_999.999, 60],
  ])("of %d ms is %d", (retryAfterMs, seconds) => {
    expect(lines([], rules, denied(2, 0, retryAfterMs))).toEqual([`Retry-After: ${seconds}`]);
  });

  it("is not there when a request passed, nor when it never can", () => {
    expect(lines([], rules, quota(2, 0, 1_000))).toEqual([]);
    expect(lines("draft", { burst: rules.burst }, denied(2, 1, Number.POSITIVE_INFINITY, 500))).toEqual([
      'RateLimit-Policy: "burst";q=2;w=1',
      'RateLimit: "burst";r=1;t=1',
    ]);
  });

  it("leaves each limit that denied its own time", () => {
    const decisions = [denied(2, 0, 400, 60_000), denied(100, 0, 864_000)];
    expect(lines("draft", rules, new Verdict(decisions)).slice(1)).toEqual([
      'RateLimit: "burst";r=0;t=1, "day";r=0;t=864',
      "Retry-After: 864",
    ]);
  });

  it("is never earlier than the time of a limit: the others are not reported as later", () => {
    const decisions = [denied(2, 0, 400, 900), quota(100, 50, 43_200_000)];
    const forms: HeaderForm[] = ["draft", "draft-7", "draft-6", "legacy-seconds"];
    for (const form of forms) {
      const told = lines(form, rules, new Verdict(decisions)).join("\n");
      expect(told).toContain("Retry-After: 1");
      for (const [, reset] of told.matchAll(/(?:;t=|reset=|Reset: )(\d+)/g))
        expect(Number(reset)).toBeLessThanOrEqual(1);
    }
  });
});

describe("the option headers", () => {
  it("is the newest draft unless stated, and false for none", () => {
    expect(requireForms(undefined)).toEqual(["draft"]);
    expect(requireForms(false)).toEqual([]);
    expect(requireForms("draft-6")).toEqual(["draft-6"]);
  });

  it.each(["draft-12", true, 7, ["draft", "X"], null])("refuses %s", (headers) => {
    expect(refusal(() => requireForms(headers))).toMatchObject({ code: "HG_BAD_OPTION", field: "headers" });
  });

  it.each([[["draft", "draft-7"]], [["legacy-epoch", "legacy-seconds"]], [["draft-6", "legacy-epoch", "draft-6"]]])(
    "refuses two forms of the same headers: %s",
    (headers) => {
      expect(refusal(() => requireForms(headers)).message).toMatch(/use the same headers/);
    },
  );
});
