import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "headgate-testkit/free-port";
import { headgate } from "headgate-testkit/headgate-command";
import { startRedis } from "headgate-testkit/redis-server";
import { startNode } from "headgate-testkit/service-process";
import { collectTemporaryFiles } from "headgate-testkit/temporary-files";
import { seededRandom } from "../traffic/random.ts";
import { soakFaults } from "./faults.ts";
import { INVARIANTS, Invariants } from "./invariants.ts";
import { Ledger } from "./ledger.ts";
import { Load } from "./load.ts";
import { figuresOf, type NodeFigures } from "./node-figures.ts";
import { readSoakOptions, type SoakOptions, USAGE } from "./options.ts";
import { OwnStalls } from "./own-stalls.ts";
import { ruleBody, soakRules, WINDOW_SECONDS } from "./rules.ts";
import { type SoakTransport, soakTransports } from "./transports.ts";

const ANY_PORT = "127.0.0.1:0";
const SETTLE_MS = 3_000;
const RECOVERY_MS = 10_000;
const LONGEST_CALL_MS = 5_000;
/** How long calls may still fail after a fault that breaks them: a worker is being replaced. */
const AFTERMATH_MS = 5_000;
/** Times are allowed to be longer by this factor at most on a machine that is busy with other things. */
const MOST_PATIENCE = 20;
const STALL_AFTERMATH_MS = 10_000;
const REPORT_EVERY_MS = 30_000;

async function soak(options: SoakOptions): Promise<boolean> {
  collectTemporaryFiles();
  const { minutes, seed, workers, rate } = options;
  const random = seededRandom(seed);
  const invariants = new Invariants(INVARIANTS);
  const { broken } = invariants;
  const transports = soakTransports.filter(({ name }) => options.transports?.includes(name) ?? true);
  console.log(
    `seed ${seed}, ${minutes} minutes, ${workers ?? "no"} workers, ${rate} checks/s on ${transports.map(({ name }) => name).join(", ")}`,
  );

  const folder = mkdtempSync(join(tmpdir(), "headgate-soak-"));
  const folderOf = ({ name }: SoakTransport): string => {
    const own = join(folder, name);
    mkdirSync(own);
    return own;
  };
  const redis = await startRedis();
  const flags = [
    ...["--http", ANY_PORT, "--grpc", ANY_PORT],
    ...["--redis", redis.url, "--store-timeout", "1s"],
    ...(workers === undefined ? [] : ["--workers", String(workers)]),
    ...transports.flatMap((transport) => transport.flags?.(folderOf(transport)) ?? []),
  ];
  // Not chosen by the node, which would choose others if all of its workers were replaced at once.
  const onFixedPorts = flags.map(async (flag) => (flag === ANY_PORT ? `127.0.0.1:${await freePort()}` : flag));
  const node = await startNode({ flags: await Promise.all(onFixedPorts) });
  const ledger = new Ledger({ workers: workers ?? 1, windowMs: 1_000 * WINDOW_SECONDS, broken });
  const ownDelay = monitorEventLoopDelay({ resolution: 10 });
  ownDelay.enable();

  const created = await node.request("PUT", "/api/v1/rules", { rules: soakRules.map(ruleBody) });
  if (!created.ok) throw new Error(await created.text());

  let mayFailUntil = 0;
  let faultEndedAt = Date.now();
  let isFaulty = false;
  const stalls = new OwnStalls();
  // The node may have closed connections that this process did not use in time.
  const mayFail = (): boolean => Date.now() < Math.max(mayFailUntil, stalls.lastAt + STALL_AFTERMATH_MS);
  const perSecond = rate / transports.length;
  const loads = transports.map((transport) => {
    const { hasIdempotencyKeys = true, countsApart = false } = transport;
    const client = transport.connect(node);
    return {
      name: transport.name,
      client,
      load: new Load(transport.name, client, {
        ledger,
        random,
        perSecond,
        hasIdempotencyKeys,
        countsApart,
        stalls,
        mayFail,
        broken,
      }),
    };
  });
  const running = loads.map(({ load }) => load.run());
  const end = performance.now() + minutes * 60_000;
  const injected = new Map<string, number>();

  const injectFaults = async (): Promise<void> => {
    const possible = soakFaults.filter(({ needsWorkers }) => workers !== undefined || needsWorkers === undefined);
    while (performance.now() < end - RECOVERY_MS - 10_000) {
      await delay(2_000 + 18_000 * random());
      const fault = possible[Math.floor(random() * possible.length)];
      injected.set(fault.name, 1 + (injected.get(fault.name) ?? 0));
      isFaulty = true;
      if (fault.breaksCalls) mayFailUntil = Number.POSITIVE_INFINITY;
      if (fault.loses) ledger.lost(Date.now());
      try {
        await fault.inject({ node, redis, random });
      } catch (error) {
        broken("a check gets an answer", `${fault.name} could not be injected: ${error}`);
      }
      if (fault.loses) ledger.lost(Date.now());
      if (fault.breaksCalls) mayFailUntil = Date.now() + patience() * AFTERMATH_MS;
      faultEndedAt = Date.now();
      isFaulty = false;
    }
  };

  const samples: NodeFigures[] = [];
  const watch = async (): Promise<void> => {
    let reportAt = performance.now() + REPORT_EVERY_MS;
    while (performance.now() < end) {
      await delay(1_000);
      ledger.settle(Date.now(), SETTLE_MS + patience() * LONGEST_CALL_MS);
      const degradedAt = Math.max(...loads.map(({ load }) => load.figures.lastDegradedAt));
      if (!isFaulty && degradedAt > faultEndedAt + patience() * RECOVERY_MS) {
        broken(
          "the store is used again within 10 seconds after a fault",
          `${degradedAt - faultEndedAt} ms after the last fault`,
        );
      }
      const longest = Math.max(...loads.map(({ load }) => load.figures.longestMs));
      if (longest > patience() * LONGEST_CALL_MS)
        broken("a check is answered within 5 seconds", `${longest.toFixed(0)} ms`);
      try {
        const health = await fetch(`${node.url}/healthz`);
        if (!health.ok && !mayFail()) broken("/healthz answers", String(health.status));
      } catch (error) {
        if (!mayFail()) broken("/healthz answers", String(error));
      }
      if (performance.now() < reportAt) continue;
      reportAt += REPORT_EVERY_MS;
      const figures = await figuresOf(node).catch(() => undefined);
      if (figures === undefined) continue;
      samples.push(figures);
      const own = ownDelay.max / 1e6;
      ownDelay.reset();
      if (figures.loopDelayMaxMs > 1_000 * patience() + own)
        broken("the event loop is not blocked", `${figures.loopDelayMaxMs} ms, here ${own} ms`);
      const sent = loads.map(
        ({ name, load: { figures: f } }) =>
          `${name} ${f.sent} sent, ${f.allowed} allowed, ${f.degraded} degraded, ${f.errors} errors`,
      );
      console.log(
        `${Math.round((performance.now() - end) / 60_000 + minutes)} min: ${figures.residentMb.toFixed(0)} MB resident, ${figures.heapMb.toFixed(0)} MB heap, ` +
          `loop delay p99 ${figures.loopDelayP99Ms.toFixed(0)} ms max ${figures.loopDelayMaxMs.toFixed(0)} ms (here ${own.toFixed(0)} ms); ${sent.join("; ")}; ${ledger.checked} windows checked`,
      );
    }
  };

  await Promise.all([injectFaults(), watch()]);
  for (const { load } of loads) load.stop();
  stalls.stop();
  await Promise.all(running);
  await delay(1_000);
  const answered = loads.reduce((sum, { load: { figures: f } }) => sum + f.allowed + f.denied, 0);
  const sent = loads.reduce((sum, { load: { figures: f } }) => sum + f.sent, 0);
  const counted = await figuresOf(node);
  // A worker that is gone took its metrics along.
  if (workers === undefined && (counted.checks < answered || counted.checks > sent)) {
    broken("the metrics count every check", `${counted.checks} counted, ${answered} answered, ${sent} sent`);
  }
  const third = Math.floor(samples.length / 3);
  const heap = (from: number, to: number): number => Math.min(...samples.slice(from, to).map(({ heapMb }) => heapMb));
  if (third >= 2 && heap(samples.length - third, samples.length) > 1.3 * heap(third, 2 * third) + 20) {
    broken("the heap stops growing", samples.map(({ heapMb }) => heapMb.toFixed(0)).join(", "));
  }
  for (const { client } of loads) client.close();
  ledger.settle(Number.POSITIVE_INFINITY, 0);
  const code = await node.stop();
  if (code !== 0) broken("the node stops cleanly", `it ended with ${code}:\n${node.stderr.slice(-2_000)}`);
  const audit = await headgate(["audit", "verify", "--data", node.data]);
  if (audit.code !== 0) broken("the audit log is intact", audit.stdout + audit.stderr);
  await node.end();
  await redis.stop();
  rmSync(folder, { recursive: true });

  for (const {
    name,
    load: { figures: f },
  } of loads) {
    const kinds = [...f.errorKinds].map(([message, count]) => `${count} × ${message}`).join("; ");
    console.log(
      `${name}: ${f.sent} sent, ${f.allowed} allowed, ${f.denied} denied, ${f.degraded} degraded, ${f.errors} errors, longest ${f.longestMs.toFixed(0)} ms${kinds === "" ? "" : ` (${kinds})`}`,
    );
  }
  console.log(`faults: ${[...injected].map(([name, count]) => `${count} × ${name}`).join(", ")}`);
  console.log(`${ledger.checked} windows checked\n${invariants.report()}`);
  return invariants.hold;
}

/** 1 on a machine that does nothing else. */
function patience(): number {
  return Math.min(MOST_PATIENCE, Math.max(1, loadavg()[0] / availableParallelism()));
}

const options = readSoakOptions(process.argv.slice(2));
if (options === undefined) console.log(USAGE);
else process.exitCode = (await soak(options)) ? 0 : 1;
