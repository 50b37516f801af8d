// A process that reserves, spends, adjusts and settles, and kills itself at one of these steps.
import { setTimeout as delay } from "node:timers/promises";
import { limitFromSpec, rateLimiter } from "../../dist/esm/index.js";
import { RedisStore } from "../../dist/esm/redis.js";
import { StoreWrapper } from "../../dist/esm/store.js";

const [url, prefix, specs, key, fatal, when, forMs, mode] = process.argv.slice(2);
const rules = Object.fromEntries(Object.entries(JSON.parse(specs)).map(([name, spec]) => [name, limitFromSpec(spec)]));
const costs = { tokens: 60, calls: 2, slots: 1 };
let step = 0;

function die() {
  process.kill(process.pid, "SIGKILL");
}

/** Calls the store, unless this is the step at which the process dies. */
function stepOf(call) {
  step += 1;
  const isFatal = step === Number(fatal);
  if (isFatal && when === "before") die();
  const result = call();
  if (isFatal) setImmediate(() => setImmediate(die));
  return result;
}

class FatalStore extends StoreWrapper {
  constructor(store) {
    super(store);
    const { journal } = store;
    this.journal = {
      get isClosed() {
        return journal.isClosed;
      },
      get isOrdered() {
        return journal.isOrdered;
      },
      // As with a single server, or as with a cluster.
      get isAtomic() {
        return mode === "atomic" && journal.isAtomic;
      },
      add: (...args) => stepOf(() => journal.add(...args)),
      restore: (...args) => journal.restore(...args),
      extend: (...args) => stepOf(() => journal.extend(...args)),
      end: (...args) => stepOf(() => journal.end(...args)),
      find: (...args) => journal.find(...args),
      // Others clean up.
      claimOverdue: async () => [],
      list: (...args) => journal.list(...args),
    };
  }

  apply(...args) {
    return stepOf(() => super.apply(...args));
  }
}

const store = new RedisStore(url, { prefix, timeoutMs: 60_000 });
await store.ready();
await store.journal.list(1);
const limiter = rateLimiter(rules, { store: new FatalStore(store) });
process.on("message", async (command) => {
  if (command === "settle") {
    const code = await reservation.settle({ tokens: 10 }).then(
      () => "settled",
      (error) => error.code,
    );
    process.send({ code, aborted: reservation.signal.aborted });
  }
});
process.on("disconnect", () => process.exit());
const reservation = await limiter.reserve(
  Object.keys(rules).map((rule) => ({ rule, key, cost: costs[rule] })),
  { forMs: Number(forMs) },
);
process.send({ reserved: reservation.allowed, id: reservation.id });
reservation.signal.addEventListener("abort", () => process.send({ lost: reservation.signal.reason.code }));
if (Number(fatal) > 0) {
  reservation.spend("tokens", 25);
  await delay(Number(forMs) / 2);
  await reservation.adjust({ tokens: 80 });
  await reservation.settle({ tokens: 10 });
  await delay(100);
  process.send({ done: true });
}
