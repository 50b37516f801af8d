// The seven algorithms on the same traffic, decided by the library itself on a manual clock.
import { bucketedWindow, fixedWindow, gcra, leakyBucket, slidingWindow, slidingWindowLog, tokenBucket } from "headgate";
import { testLimiter } from "headgate/testing";
import { crosses, dots, path, polyline, rect, strokes, svg, text } from "./svg.mjs";

const LIMIT = 6;
const WINDOW_MS = 6000;
const END_MS = 24_000;
const RATE = { limit: LIMIT, windowMs: WINDOW_MS };
const KEY = "client";

const algorithms = [
  ["tokenBucket", tokenBucket(RATE), "bursts up to the limit, then the rate"],
  ["gcra", gcra(RATE), "the same decisions, counted in whole units"],
  ["leakyBucket", leakyBucket(RATE), "the same decisions, with a queue that drains evenly"],
  ["fixedWindow", fixedWindow(RATE), "full quota at each window: twice the limit around an edge"],
  ["slidingWindowLog", slidingWindowLog(RATE), `never more than ${LIMIT} in any ${WINDOW_MS / 1000} s`],
  ["slidingWindow", slidingWindow(RATE), "estimates the last window from two counts"],
  ["bucketedWindow", bucketedWindow(RATE, { bucketWidthMs: 1000 }), "a log in buckets, here of 1 s"],
];

/** When requests arrive: a burst on each side of a window's edge, steady traffic over the rate, and a late burst. */
const arrivals = [
  ...evenly(8, 4400, 200),
  ...evenly(8, 6200, 200),
  ...evenly(12, 10_500, 500),
  ...evenly(8, 21_000, 200),
];

function evenly(count, startMs, stepMs) {
  return Array.from({ length: count }, (_, index) => startMs + index * stepMs);
}

/** Runs the traffic through a limit; every 50 ms and after every request, looks at what is left. */
function run(limit) {
  const { limiter, clock } = testLimiter({ rule: limit });
  const decisions = [];
  const remaining = [];
  const look = (ms) => remaining.push([ms, limiter.peekSync("rule", KEY).remaining]);
  const moments = [...new Set([...evenly(END_MS / 50, 0, 50), ...arrivals, END_MS - 1])].sort(
    (left, right) => left - right,
  );
  for (const ms of moments) {
    clock.set(ms);
    look(ms);
    for (const _ of arrivals.filter((arrival) => arrival === ms)) {
      const { allowed, delayMs } = limiter.checkSync("rule", KEY);
      decisions.push({ ms, allowed, leavesMs: delayMs === undefined ? undefined : ms + delayMs });
      look(ms);
    }
  }
  return { decisions, remaining };
}

const LEFT = 16;
const PLOT = 688;
const TOP = 78;
const PANEL = 88;
const LABEL = 8;
const CURVE = 36;

export function algorithmsFigure() {
  const x = (ms) => LEFT + (ms / END_MS) * PLOT;
  const height = TOP + PANEL * algorithms.length + 10;
  const body = [
    text(LEFT, 26, `Seven algorithms, the same traffic: ${LIMIT} requests per ${WINDOW_MS / 1000} seconds`, "bold"),
    ...legend(),
  ];
  for (const [index, [name, limit, note]] of algorithms.entries()) {
    const { decisions, remaining } = run(limit);
    const top = TOP + index * PANEL + LABEL;
    const y = (units) => top + CURVE - (Math.max(0, units) / LIMIT) * CURVE;
    const row = top + CURVE + 9;
    const line = polyline(steps(remaining).map(([ms, units]) => [x(ms), y(units)]));
    const admitted = decisions.filter(({ allowed }) => allowed);
    const denied = decisions.filter(({ allowed }) => !allowed);
    body.push(
      `<text x="${LEFT}" y="${top - 7}"><tspan class="code">${name}</tspan><tspan class="soft small" dx="10">${note}</tspan></text>`,
      text(LEFT + PLOT, top - 7, `${admitted.length} admitted, ${denied.length} denied`, "small end"),
      rect(LEFT, top, PLOT, CURVE, "warm"),
      path(`${line}V${top + CURVE}H${LEFT}Z`, "area"),
      path(line, "good"),
      strokes(
        evenly(END_MS / WINDOW_MS - 1, WINDOW_MS, WINDOW_MS).map((ms) => [x(ms), top]),
        CURVE,
        "edge dashed",
      ),
      dots(admitted.map(({ ms }) => [x(ms), row])),
      crosses(denied.map(({ ms }) => [x(ms), row])),
    );
    if (name === "leakyBucket") {
      const leaving = admitted.map(({ leavesMs }) => leavesMs).filter((ms) => ms <= END_MS);
      body.push(
        strokes(
          leaving.map((ms) => [x(ms), row + 6]),
          7,
          "good",
        ),
      );
    }
  }
  body.push(
    ...evenly(END_MS / WINDOW_MS + 1, 0, WINDOW_MS).map((ms, index, all) => {
      const anchor = index === 0 ? "" : index === all.length - 1 ? " end" : " middle";
      return text(x(ms), height - 14, `${ms / 1000} s`, `soft small${anchor}`);
    }),
  );
  return svg({
    width: LEFT + PLOT + LEFT,
    height,
    title: "Seven rate-limiting algorithms on the same traffic",
    description: algorithms
      .map(([name, limit]) => {
        const { decisions } = run(limit);
        return `${name} admits ${decisions.filter(({ allowed }) => allowed).length} of ${decisions.length} requests.`;
      })
      .join(" "),
    body,
  });
}

function legend() {
  return [
    rect(16, 40, 14, 10, "area"),
    text(36, 49, "quota left", "soft small"),
    rect(106, 40, 14, 10, "warm"),
    text(126, 49, "in use", "soft small"),
    dots([[182, 45]]),
    text(191, 49, "admitted", "soft small"),
    crosses([[262, 45]]),
    text(271, 49, "denied", "soft small"),
    strokes([[328, 41]], 8, "good"),
    text(336, 49, "leaves the queue", "soft small"),
    strokes([[452, 39]], 12, "edge dashed"),
    text(460, 49, "windows of the clock", "soft small"),
  ];
}

/** Quota that jumps (a new window, a bucket that leaves) is drawn as a step, quota that flows back as a slope. */
function steps(samples) {
  return samples.flatMap(([ms, units], index) => {
    const [, before] = samples[index - 1] ?? [];
    return before !== undefined && Math.abs(units - before) > 0.9
      ? [
          [ms, before],
          [ms, units],
        ]
      : [[ms, units]];
  });
}
