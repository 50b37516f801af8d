import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import type { FastifyInstance } from "fastify";
import { KeyRing } from "../access/key-ring.ts";
import { WrongKeys } from "../access/wrong-keys.ts";
import { CallLimits } from "../checks/call-limits.ts";
import { makeCheckService } from "../checks/check-service.ts";
import { openStores, type StoreHooks, type StoreState } from "../checks/counter-stores.ts";
import { ReservationService } from "../checks/reservation-service.ts";
import { StoredUsers } from "../checks/stored-users.ts";
import { UserDataCache } from "../checks/user-data-cache.ts";
import { rejectExposure } from "../config/exposure.ts";
import { fields, flagOf } from "../config/fields.ts";
import type { Address, Settings } from "../config/settings.ts";
import { addressText } from "../config/values.ts";
import type { AuditTable, Database } from "../database/database.ts";
import { DeniedOnAllNodes } from "../metrics/denied-on-all-nodes.ts";
import { NodeReports } from "../metrics/node-reports.ts";
import { NodeTelemetry } from "../metrics/node-telemetry.ts";
import { observeNode } from "../metrics/opentelemetry-metrics.ts";
import { prometheus } from "../metrics/prometheus.ts";
import { ReservationFigures } from "../metrics/reservation-figures.ts";
import { RollupWriter } from "../metrics/rollup-writer.ts";
import { traced } from "../metrics/tracing.ts";
import { openRecorder } from "../recorder/open-recorder.ts";
import { recordingTelemetry } from "../recorder/recording-telemetry.ts";
import { type TransportName, transportNames, transports } from "../transports/registry.ts";
import { makeRest } from "../transports/rest/app.ts";
import { SelfLimits } from "../transports/shared/own-limits.ts";
import type { RunningTransport } from "../transports/shared/transport.ts";
import { shareBursts } from "../workers/share-bursts.ts";
import { WorkerMesh, workerName } from "../workers/worker-mesh.ts";
import type { WorkerPlace } from "../workers/worker-place.ts";
import { DatabaseRules, FileRules, type RulesInForce } from "./active-rules.ts";
import { Closing } from "./close-in-order.ts";
import { reachDatabase } from "./connect-database.ts";
import { joinNodes, reachStore } from "./connect-store.ts";
import { drained } from "./drain.ts";
import { startHousekeeping } from "./housekeeping.ts";
import { listening } from "./listen.ts";
import type { Log } from "./log.ts";
import { addFigures } from "./node-metrics.ts";
import { settled } from "./read-your-writes.ts";
import { Timetable } from "./recurring-work.ts";
import { reload } from "./reload.ts";
import { StoreHealth } from "./store-health.ts";
import { tlsOptions } from "./tls.ts";
import { version } from "./version.ts";
import { listenWhileWaiting, type WaitingListener } from "./waiting-listener.ts";

/** How long new connections are accepted after a node is asked to stop. */
const LAST_CALL_MS = 250;
/** Within this time, all workers of a node that stops have closed their listeners. */
const CLOSE_TOGETHER_MS = 250;
/** How long requests in progress may take when the node stops. */
const GRACE_MS = 10_000;

/** Of workers other than the first: a change of the rules file is audited once. */
const NO_AUDIT = { append: async () => {} };

/** A running node. */
export interface RunningNode {
  /** URL of the REST API. */
  readonly url: string;
  /** Addresses of the other transports that are turned on. */
  readonly addresses: Readonly<Partial<Record<TransportName, string>>>;
  /** The first admin key, if it was just created. It cannot be shown again. */
  readonly firstKey: string | undefined;
  /** Number of rules at the start. */
  readonly rules: number;
  /** Whether the shared store of counters can be reached; undefined if there is none. */
  readonly store: StoreState | undefined;
  /** Rereads rules and certificates. Failures are logged, and the previous ones stay in force. */
  reload(): Promise<void>;
  /** Stops accepting requests, finishes those in progress, gives leases back, writes what is pending, and closes. */
  stop(): Promise<void>;
}

/** What the surrounding program provides. */
export interface NodeHost {
  /** Number of log lines that could not be written so far. */
  readonly lostLogLines?: () => number;
  /** Stores the first admin key for its owner. The key is created only if this succeeds. */
  readonly keepFirstKey?: (secret: string) => Promise<void>;
  /** Which worker this process is, if several serve the node. */
  readonly worker?: WorkerPlace | undefined;
  /** Called after the last request was answered. Until it resolves, other workers can use the counters of this one. */
  readonly drained?: () => Promise<void>;
}

/** Starts a node. If any part fails, closes what was opened and throws. */
export async function serve(settings: Settings, log: Log, host: NodeHost = {}): Promise<RunningNode> {
  rejectExposure(settings);
  // Its errors are reported here anyway.
  setLogVerbosity(logVerbosity.NONE);
  const closing = new Closing();
  try {
    return await start(settings, log, host, closing);
  } catch (error) {
    // The first error is the one to report.
    await closing.close().catch(() => {});
    throw error;
  }
}

async function start(settings: Settings, log: Log, host: NodeHost, closing: Closing): Promise<RunningNode> {
  const { lostLogLines = () => 0, keepFirstKey, worker } = host;
  const mesh = worker && (await WorkerMesh.open(worker));
  closing.add(() => mesh?.close());
  if (mesh !== undefined) closing.add(shareBursts());
  // What is done once for the whole node.
  const isFirst = worker === undefined || worker.index === 0;
  const telemetry = new NodeTelemetry();
  let { http } = settings;
  let waiting: WaitingListener | undefined;
  closing.add(() => waiting?.close());
  const database = await reachDatabase(settings, log, async () => {
    waiting = await listenWhileWaiting(settings, ["database"]);
    // If the port was chosen by the system, keep it.
    http = waiting.address;
  });
  closing.add(() => database.close());
  const health = new StoreHealth(log);
  const recording = await openRecorder(settings, log, worker?.count ?? 1);
  closing.add(() => recording?.close());
  const hooks: StoreHooks = {
    onFailure: (code, cause) => {
      telemetry.storeFailed(code);
      health.failed(code, cause);
    },
    onDegraded: (change) => health.changed(change),
    ...(recording && { wrap: (store) => recording.recorder.recorded(store) }),
  };
  // To a shared store, each worker is a node.
  const nodes = settings.nodes * (worker?.count ?? 1);
  const stores = await openStores({ ...settings, nodes }, hooks, undefined, mesh);
  closing.add(() => stores.close());
  await reachStore(stores, log);
  const rules = await rulesOf(settings, log, database, isFirst ? database.audit : NO_AUDIT);
  closing.add(() => rules.close());
  await joinNodes(stores, rules.catalogue.rules, log);
  const keyRing = new KeyRing(database, {
    adminKey: settings.adminKey,
    onError: (error) => log.error({ err: error }, "cannot read the API keys: the previous ones stay in force"),
  });
  closing.add(() => keyRing.close());
  await keyRing.refresh();
  if (mesh !== undefined) {
    mesh.duties.refresh = async () => {
      await Promise.all([rules.refresh(), keyRing.refresh()]);
    };
  }
  const stored = new StoredUsers(database.users);
  const userDataCache = new UserDataCache(database.users, { stored });
  closing.add(database.onChange((change) => userDataCache.changed(change)));
  await stored.read();
  const service = traced(
    makeCheckService({
      stores,
      catalogue: () => rules.catalogue,
      userDataCache,
      telemetry: recording === undefined ? telemetry : recordingTelemetry(telemetry, recording.recorder),
      audit: database.audit,
      skewBoundMs: settings.skewBoundMs,
      storeTimeoutMs: settings.storeTimeoutMs,
      auditThrottledEveryMs: settings.auditThrottledEveryMs,
    }),
  );
  closing.add(() => service.close());
  const reservations = new ReservationService({
    audit: database.audit,
    stores,
    catalogue: () => rules.catalogue,
    userDataCache,
    nowMs: () => stores.clock.now() / 1000,
  });
  closing.add(() => reservations.close());
  const reservationFigures = new ReservationFigures(reservations, () => stores.clock.now() / 1000);

  const rollups = new RollupWriter(telemetry.tally, database.rollups, new Date());
  closing.add(() =>
    rollups.flush(new Date()).catch((error) => log.warn({ err: error }, "cannot write the last usage figures")),
  );
  const denied = new DeniedOnAllNodes(telemetry.topDenied, database.denied);
  closing.add(() => denied.flush().catch((error) => log.warn({ err: error }, "cannot write the most denied keys")));
  const reports = new NodeReports(
    telemetry,
    database.nodes,
    { name: nodeName(worker), version, store: () => health.stateOf(stores) },
    Date.now(),
  );
  // A report that cannot be removed is ignored after a few seconds.
  closing.add(() => reports.leave().catch(() => {}));
  const timetable = new Timetable();
  closing.add(() => timetable.stop());
  startHousekeeping(timetable, {
    database,
    stores,
    telemetry,
    rules,
    rollups,
    denied,
    reports,
    reservationFigures,
    settings,
    log,
    isFirst,
  });

  closing.add(observeNode(telemetry, stores.stats, reservationFigures));
  const registry = prometheus(telemetry, version);
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker.index) });
  if (mesh !== undefined) mesh.duties.metrics = () => registry.metrics();
  const wrongKeys = new WrongKeys({ perMinute: settings.wrongKeysPerMinute, log });
  addFigures(registry, {
    rules,
    stores,
    userDataCache,
    rollups,
    lostLogLines,
    wrongKeys,
    reservations: reservationFigures,
  });
  const selfLimits = new SelfLimits({ rates: settings, store: stores.shared });
  let waitingFor = ["start"];
  let isClosing = false;
  const rest = makeRest(
    {
      service,
      reservations,
      database: settled(database, rules, keyRing, () => mesh?.refreshOthers()),
      catalogue: () => rules.catalogue,
      userDataCache,
      keyRing,
      wrongKeys,
      telemetry,
      metricsText: () => mesh?.metricsOfAll() ?? registry.metrics(),
      ready: () => waitingFor,
      store: () => health.stateOf(stores),
      topDenied: (limit) => denied.top(limit),
      livePicture: () => reports.picture(Date.now()),
      recording: recording && {
        requests: recording.requests,
        oneIn: settings.recordOneIn,
        nameOf: (key) => recording.recorder.nameOf(key),
      },
      rulesFile: settings.rules,
      selfLimits,
    },
    { logger: quiet(log), https: settings.tls && tlsOptions(settings.tls), isClosing: () => isClosing },
  );
  const { respConsistency: consistency, respOnError } = settings;
  const callLimits = new CallLimits({ stores, consistency, onError: respOnError });
  const onError = (error: unknown): void => log.error({ err: error }, "a call failed");
  const running = new Map<TransportName, RunningTransport>();
  closing.add(async () => {
    waitingFor = ["stop"];
    // Load balancers need a moment to notice, so requests are still accepted.
    await delay(LAST_CALL_MS);
    const sayGoodbye = async (): Promise<void> => {
      // A client whose response has `Connection: close` reconnects. By then, all workers must have stopped listening.
      if (mesh !== undefined) await delay(CLOSE_TOGETHER_MS);
      isClosing = true;
    };
    const stopping = [...running.values()].map((transport) => transport.stop(GRACE_MS));
    await Promise.all([drained(rest, GRACE_MS, sayGoodbye), ...stopping]);
    await host.drained?.();
  });
  // As late as possible: until here, clients receive 503 with Retry-After.
  await waiting?.close();
  waiting = undefined;
  await listening("--http", http, () => rest.listen(http));
  for (const name of transportNames) {
    const address = settings[name];
    if (address === undefined) continue;
    const start = () =>
      transports[name].start({
        service,
        reservations,
        callLimits,
        stores,
        log,
        keyRing,
        wrongKeys,
        settings,
        telemetry,
        selfLimits,
        onError,
      });
    running.set(name, await listening(flagOf(fields[name]), address, start));
  }
  // Last: a key that is created but never shown, because a later step failed, would lock everyone out.
  const firstKey = isFirst ? await keyRing.makeFirstKey(keepFirstKey) : undefined;
  if (firstKey !== undefined) await mesh?.refreshOthers();
  waitingFor = [];
  return {
    url: `${settings.tls === undefined ? "http" : "https"}://${addressText(reachable({ ...http, port: portOf(rest) }))}`,
    addresses: Object.fromEntries([...running].map(([name, { address }]) => [name, addressText(reachable(address))])),
    firstKey,
    rules: rules.catalogue.rules.length,
    store: health.stateOf(stores),
    reload: () => reload({ settings, log, rules, rest, transports: [...running.values()] }),
    stop: () => closing.close(),
  };
}

function nodeName(worker: WorkerPlace | undefined): string {
  const name = `${hostname()}:${process.pid}`;
  return worker === undefined ? name : `${name} (${workerName(worker.index)})`;
}

/** The address at which this machine can reach it. */
function reachable(address: Address): Address {
  const { host } = address;
  if (host === "0.0.0.0") return { ...address, host: "127.0.0.1" };
  return host === "::" ? { ...address, host: "::1" } : address;
}

/** The port chosen by the system, if port 0 was requested. */
function portOf({ server }: FastifyInstance): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("REST is not listening on a port");
  return address.port;
}

/** REST logs only warnings and errors; that it listens is logged once for the whole node. */
function quiet(log: Log): Log {
  return log.isLevelEnabled("info") ? log.child({}, { level: "warn" }) : log;
}

function rulesOf(
  { rules }: Settings,
  log: Log,
  database: Database,
  audit: Pick<AuditTable, "append">,
): Promise<RulesInForce> {
  return rules === undefined ? DatabaseRules.open(database, log) : FileRules.open(rules, log, audit);
}
