// A process with one leased store or several, each a node with a client of its own. It does what it is told, and tells
// what was let in and in which window.
const settings = JSON.parse(process.argv[2]);
const { server, limit, windowMs, nodes = 1, aheadMs = 0, slackMs = 0, options = {}, fallBack, store = {} } = settings;

/** Microseconds of the machine's clock, which the server goes by, whatever this process takes the time to be. */
const now = (() => {
  const elapsed = () => Number(process.hrtime.bigint() / 1000n);
  let ahead = Number.NEGATIVE_INFINITY;
  // A busy machine may stop this process between the two readings: then the difference is too small, but never too large.
  for (let i = 0; i < 20; i += 1) {
    const tick = Date.now();
    while (Date.now() === tick);
    ahead = Math.max(ahead, Date.now() * 1000 - elapsed());
  }
  return () => elapsed() + ahead;
})();

if (aheadMs !== 0) {
  const machine = Date.now;
  Date.now = () => machine() + aheadMs;
  Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + aheadMs });
}
const { fixedWindow, leased, resilient } = await import("headgate");

const WINDOW = windowMs * 1000;
const KEY = "hot";
const rule = { name: "api", limit: fixedWindow({ limit, windowMs }) };

async function connected() {
  if (server.zookeeper !== undefined) {
    const { ZooKeeperStore } = await import("headgate/zookeeper");
    return new ZooKeeperStore(server.zookeeper, store);
  }
  const { RedisStore } = await import("headgate/redis");
  return new RedisStore(server.redis, store);
}

const stores = await Promise.all(
  Array.from({ length: nodes }, async () => {
    const inner = await connected();
    return leased(
      fallBack === undefined ? inner : resilient(inner, { onError: fallBack, onDegraded: () => {} }),
      options,
    );
  }),
);

/** In which window the store charged a request: its answer contains the time left in it. */
function windowOfCharge(sent, { resetAfter }) {
  // The clock that we read and the server's are the same, but for how well we read it.
  return Math.ceil((sent + resetAfter - 2_000) / WINDOW) - 1;
}

/** Which window a denial is of. A node knows when the next one begins as well as a reply was quick. */
function windowOfDenial(at, { retryAfter }) {
  return Math.ceil((at + retryAfter - 50_000) / WINDOW) - 1;
}

/** When the present run of synchronous code began, if it has asked for anything. */
let runBegan;

/** Checks of one run share readings of the clock, so they may be decided as early as the first of them. */
function earliest(sent) {
  if (runBegan === undefined) {
    runBegan = sent;
    setImmediate(() => {
      runBegan = undefined;
    });
  }
  return runBegan;
}

/** In which window quota that was held was spent. */
function windowOfSpending(sent, received, isWaited, { lease }) {
  const at = isWaited ? received : sent;
  const window = Math.floor(at / WINDOW);
  // The answer was sent at the end of a window and received after it: the window is the one that the lease ended with.
  // So it is if the process was not run for a while around that end.
  if (window > Math.floor(earliest(sent) / WINDOW))
    return Math.round((received + lease.deadlineMs * 1000) / WINDOW) - 1;
  // A store whose clock is off may begin its next window early by that much.
  const left = WINDOW - (at % WINDOW);
  return left < slackMs * 1000 && lease.deadlineMs * 1000 > left + slackMs * 1000 ? window + 1 : window;
}

class Tally {
  /** For each admitted request: when that was known, and in which window it counts. */
  at = [];
  window = [];
  asked = 0;
  denied = 0;
  degraded = 0;
  degradedDenied = 0;
  /** For how long at most it was kept from asking, in milliseconds. */
  stalledMs = 0;
  /** When a window first denied one. */
  firstDenial = new Map();
  errors = {};

  count(answer, sent, isWaited) {
    const received = now();
    if (answer.degraded) {
      if (answer.allowed) this.degraded += 1;
      else this.degradedDenied += 1;
      return;
    }
    if (!answer.allowed) {
      this.denied += 1;
      const window = windowOfDenial(isWaited ? received : sent, answer);
      if (!this.firstDenial.has(window)) this.firstDenial.set(window, received);
      return;
    }
    const window =
      answer.source === "store" ? windowOfCharge(sent, answer) : windowOfSpending(sent, received, isWaited, answer);
    this.at.push(received);
    this.window.push(window);
  }

  fail(error) {
    const code = error?.code ?? String(error);
    this.errors[code] = (this.errors[code] ?? 0) + 1;
  }
}

function request(node, tally, cost = 1) {
  const sent = now();
  tally.asked += 1;
  let answers;
  try {
    answers = stores[node].apply("take", [{ rule, key: KEY, cost }]);
  } catch (error) {
    return tally.fail(error);
  }
  if (!("then" in answers)) return tally.count(answers[0], sent, false);
  return answers.then(
    ([answer]) => tally.count(answer, sent, true),
    (error) => tally.fail(error),
  );
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let isStopped = false;

const orders = {
  /** Each of these nodes has this many requests in flight; each answer is followed by the next request. */
  async hammer({ on = stores.map((_, i) => i), inFlight, forMs, untilDenied = false, startAt = 0 }) {
    const tally = new Tally();
    while (now() < startAt) await (startAt - now() > 20_000 ? sleep(10) : turn());
    const end = performance.now() + forMs;
    const isOver = () => isStopped || performance.now() >= end || (untilDenied && tally.denied > 0);
    const ask = async (node) => {
      for (let asked = 1; !isOver(); asked += 1) {
        const answered = request(node, tally);
        if (answered !== undefined) await answered;
        else if (asked % 20 === 0) await turn();
      }
    };
    await Promise.all(on.flatMap((node) => Array.from({ length: inFlight }, () => ask(node))));
    return tally;
  },

  /** Each of these nodes is asked at a rate, whether it answers or not. */
  async pace({ on = stores.map((_, i) => i), perMs, forMs, untilDenied = false }) {
    const tally = new Tally();
    const open = new Set();
    const began = performance.now();
    let last = began;
    for (let asked = 0; performance.now() - began < forMs && !isStopped; await sleep(1)) {
      tally.stalledMs = Math.max(tally.stalledMs, performance.now() - last);
      last = performance.now();
      if (untilDenied && tally.denied > 0) break;
      for (const due = (performance.now() - began) * perMs; asked < due; asked += 1) {
        for (const node of on) {
          const answered = request(node, tally);
          if (answered === undefined) continue;
          open.add(answered);
          void answered.then(() => open.delete(answered));
        }
      }
    }
    await Promise.all(open);
    return tally;
  },

  /** One after the other on one node. */
  async take({ node = 0, times, cost = 1 }) {
    const tally = new Tally();
    for (let i = 0; i < times; i += 1) await request(node, tally, cost);
    return tally;
  },

  stop() {
    isStopped = true;
  },

  stats() {
    return stores.map(({ stats }) => stats);
  },

  leases() {
    return stores.map((store) => store.leaseOf(rule.name, KEY));
  },

  async close() {
    await Promise.all(stores.map((store) => store.close()));
  },
};

process.on("message", async ({ id, name, order }) => {
  try {
    process.send({ id, value: await orders[name](order ?? {}) });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});
process.on("disconnect", () => process.exit());
// The first answer contains the server's time.
async function warm(store) {
  for (;;) {
    try {
      return await store.apply("peek", [{ rule, key: "warm", cost: 1 }]);
    } catch {}
  }
}
await Promise.all(stores.map(warm));
process.send({ id: 0 });
