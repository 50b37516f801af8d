// The life of a lease: one key, leased from a pool by the library itself on a manual clock.
import { fixedWindow, leased, MemoryStore, rateLimiter } from "headgate";
import { ManualClock } from "headgate/testing";
import { mark, path, polyline, rect, svg, text } from "./svg.mjs";

const TOTAL = 1000;
const WINDOW_MS = 10_000;
const END_MS = 12_000;
const STEP_MS = 10;
const KEY = "tenant";

/** Requests per second: a slow start, a busy time, a pause, more than the limit allows, and the next window. */
function traffic(ms) {
  if (ms < 1000) return 10;
  if (ms < 4000) return 110;
  if (ms < 6000) return 0;
  return 260;
}

async function run() {
  const clock = new ManualClock();
  const pool = new MemoryStore({ clock });
  // A store at the other end of a network: 2 ms there, 2 ms back.
  const remote = {
    clock,
    async apply(...args) {
      await clock.sleep(2);
      const answers = pool.apply(...args);
      await clock.sleep(2);
      return answers;
    },
  };
  const rules = { api: fixedWindow({ limit: TOTAL, windowMs: WINDOW_MS }) };
  const store = leased(remote, { clock, base: 100 });
  const limiter = rateLimiter(rules, { store });
  const inPool = rateLimiter(rules, { store: pool });
  const counts = { requests: 0, admitted: 0, denied: 0 };
  const samples = [];
  let due = 0;
  for (let ms = 0; ms < END_MS; ms += STEP_MS) {
    for (due += (traffic(ms) * STEP_MS) / 1000; due >= 1; due -= 1) {
      counts.requests += 1;
      void limiter.check("api", KEY).then(({ allowed }) => {
        counts[allowed ? "admitted" : "denied"] += 1;
      });
    }
    await clock.advance(STEP_MS);
    const { held, granted, returned, roundTrips } = store.stats;
    const { remaining } = await inPool.peek("api", KEY);
    const isLeased = store.leaseOf("api", KEY) !== undefined;
    samples.push({ ms: ms + STEP_MS, pool: remaining, held, granted, returned, roundTrips, isLeased, ...counts });
  }
  // Returning what is held takes a round trip, too.
  const closed = store.close();
  await clock.advance(WINDOW_MS);
  await closed;
  return samples;
}

/** What the figure points at, found in what happened. */
function eventsOf(samples) {
  const at = (isIt) => samples.find((sample, index) => index > 0 && isIt(sample, samples[index - 1]));
  const leasedAt = at(({ isLeased }) => isLeased);
  const events = [
    [samples[20], "A cold key: each request is decided by the store."],
    [leasedAt, "After 8 requests the key is leased: a batch of quota moves here and is spent without round trips."],
    [
      at((now, before) => now.ms > 2000 && now.granted > before.granted && before.held > 0),
      "When a fifth of the batch is left, the next one is fetched in the background.",
    ],
    [at((now, before) => now.returned > before.returned), "An idle key gives back what it holds."],
    [
      at((now, before) => now.denied > before.denied),
      "The pool is empty: requests are denied here, without a round trip, until the window ends.",
    ],
    [
      at((now, before) => now.ms >= WINDOW_MS && now.pool > before.pool),
      "The next window: the pool is full again. Quota held from the old window is worth nothing.",
    ],
  ];
  for (const [sample, meaning] of events) if (sample === undefined) throw new Error(`did not happen: ${meaning}`);
  return events;
}

const LEFT = 52;
const PLOT = 652;
const TOP = 66;
const HEIGHT = 230;

/** The highest point within 100 ms before, so that a mark does not cover the curve. */
function highest(samples, until, top) {
  const near = samples.filter(({ ms }) => ms > until - 100 && ms <= until && until !== WINDOW_MS);
  return Math.max(0, ...near.map(top));
}

export async function leaseFigure() {
  const samples = await run();
  const events = eventsOf(samples);
  const x = (ms) => LEFT + (ms / END_MS) * PLOT;
  const y = (units) => TOP + HEIGHT - (units / TOTAL) * HEIGHT;
  // Up from the bottom: what was admitted in this window, what is held here, and what the pool has left.
  const tops = { admitted: ({ pool, held }) => TOTAL - pool - held, held: ({ pool }) => TOTAL - pool };
  const outline = (top) => polyline(samples.flatMap((sample) => [[x(sample.ms), y(top(sample))]]));
  const below = (top) => `${outline(top)}V${TOP + HEIGHT}H${x(samples[0].ms)}Z`;
  const { requests, admitted, roundTrips } = samples.findLast(({ ms }) => ms < WINDOW_MS);
  const bottom = TOP + HEIGHT;
  const body = [
    text(
      16,
      26,
      `The life of a lease: ${TOTAL.toLocaleString("en")} requests per ${WINDOW_MS / 1000} s, one node`,
      "bold",
    ),
    rect(16, 40, 14, 10, "box"),
    text(36, 49, "in the pool", "soft small"),
    rect(116, 40, 14, 10, "held"),
    text(136, 49, "held here (the lease)", "soft small"),
    rect(270, 40, 14, 10, "area"),
    text(290, 49, "admitted in this window", "soft small"),
    rect(LEFT, TOP, PLOT, HEIGHT, "box"),
    path(below(tops.held), "held"),
    path(below(tops.admitted), "area"),
    path(outline(tops.admitted), "good"),
    path(`M${x(WINDOW_MS)} ${TOP}V${bottom}`, "edge dashed"),
    ...[0, 500, TOTAL].map((units) => text(LEFT - 8, y(units) + 4, units.toLocaleString("en"), "soft small end")),
    ...[0, 2, 4, 6, 8, 10].map((s) => text(x(s * 1000), bottom + 18, `${s} s`, "soft small middle")),
    ...events.flatMap(([sample, meaning], index) => [
      mark(x(sample.ms), Math.max(TOP + 12, y(highest(samples, sample.ms, tops.held)) - 16), index + 1),
      mark(25, bottom + 44 + index * 24, index + 1),
      text(42, bottom + 48 + index * 24, meaning, "small"),
    ]),
    text(
      16,
      bottom + 54 + events.length * 24,
      `First window: ${requests.toLocaleString("en")} requests, ${admitted.toLocaleString("en")} admitted, ${roundTrips} round trips to the store.`,
      "soft small",
    ),
  ];
  return svg({
    width: LEFT + PLOT + 16,
    height: bottom + 70 + events.length * 24,
    title: "The life of a lease",
    description: events.map(([{ ms }, meaning]) => `After ${(ms / 1000).toFixed(1)} s: ${meaning}`).join(" "),
    body,
  });
}
