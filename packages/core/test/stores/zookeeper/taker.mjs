// A separate process that takes from a ZooKeeper store on demand, and reports the results.
const [address, root, aheadMs, sessionTimeoutMs] = process.argv.slice(2);

// Before anything is loaded that reads the time: the clock of another machine.
const { now } = Date;
Date.now = () => now() + Number(aheadMs);
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + Number(aheadMs) });

const { limitFromSpec } = await import("../../../dist/esm/limits/spec.js");
const { ZooKeeperStore } = await import("../../../dist/esm/zookeeper.js");

const store = new ZooKeeperStore(address, { root, timeoutMs: 5_000, sessionTimeoutMs: Number(sessionTimeoutMs) });

/** So many at once, one after the other each, until the time is over. */
process.on("message", async ({ spec, inFlight, forMs, untilDenied = false }) => {
  const rule = { name: "taken", limit: limitFromSpec(spec) };
  const end = performance.now() + forMs;
  const report = { allowed: 0, denied: 0, failed: 0, retryAfterMs: 0, lastMs: 0 };
  const take = async () => {
    while (performance.now() < end) {
      try {
        const [{ allowed, retryAfter }] = await store.apply("take", [{ rule, key: "k", cost: 1 }]);
        report[allowed ? "allowed" : "denied"] += 1;
        if (!allowed) report.retryAfterMs = retryAfter / 1000;
        report.lastMs = now();
        if (untilDenied && !allowed) return;
      } catch {
        report.failed += 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, take));
  process.send(report);
});
process.on("disconnect", () => process.exit());
await store.ready();
process.send("ready");
