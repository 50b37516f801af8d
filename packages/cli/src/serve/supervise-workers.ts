import cluster, { type Worker } from "node:cluster";
import { setTimeout as delay } from "node:timers/promises";
import { openLog, type Settings, welcome } from "headgate-server";
import { type ExitCode, exitCodes } from "../failure.ts";
import { handleSignals } from "./signals.ts";
import { makeSocketFolder } from "./socket-folder.ts";
import { environmentOf, type FromWorker, type ReadyWorker, type ToWorker } from "./worker-messages.ts";

/** A worker that ends within this time of its start is restarted only after a pause. */
const SHORT_LIFE_MS = 5_000;
const PAUSE_MS = 1_000;

type Log = Awaited<ReturnType<typeof openLog>>["log"];

/** `headgate serve --workers`: starts the workers, restarts those that end, and passes signals on. */
export async function superviseWorkers(settings: Settings): Promise<ExitCode> {
  // Workers accept connections themselves. If this process accepted them and passed them on (the default), a
  // connection that was on its way to a worker when that worker is killed would stay open and never be answered.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const signals = handleSignals();
  const { log, output } = await openLog(settings);
  process.stdout.removeAllListeners("error").on("error", () => {});
  const workers = new Workers(settings.workers, await makeSocketFolder(), log);
  const started = await Promise.race([workers.start(), signals.stop]);
  if (typeof started !== "object") {
    const isSignal = typeof started === "string";
    if (isSignal) log.info({ signal: started }, "stopped before the node was ready");
    await workers.stop();
    await output.flush();
    // The worker has said why it could not start.
    return isSignal ? exitCodes.done : started;
  }
  signals.onReload(() => {
    try {
      output.reopen();
    } catch (error) {
      log.error({ err: error }, "cannot reopen the log file: still writing to the old one");
    }
    workers.signal("SIGHUP");
  });
  signals.onRestart(() => void workers.restart());
  const [first] = started;
  process.stdout.write(await welcome(first, settings, first.firstKeyFile));
  const { url, addresses, rules, store } = first;
  log.info({ http: url, ...addresses, rules, store, workers: settings.workers }, "ready");
  log.info({ signal: await signals.stop }, "stopping");
  await workers.stop();
  log.info("stopped");
  await output.flush();
  return exitCodes.done;
}

/** One worker process. */
interface Running {
  readonly worker: Worker;
  readonly ready: Promise<ReadyWorker>;
  /** Its exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  isDrained: boolean;
}

class Workers {
  readonly #count: number;
  readonly #folder: string;
  readonly #log: Log;
  readonly #running = new Map<number, Running>();
  /** Workers that were asked to stop. They can close when all of them are drained. */
  readonly #stopping = new Set<number>();
  #isStopping = false;
  #restarting: Promise<void> = Promise.resolve();

  constructor(count: number, folder: string, log: Log) {
    this.#count = count;
    this.#folder = folder;
    this.#log = log;
  }

  /** Resolves when all workers are ready, or with the exit code of one that could not start. */
  async start(): Promise<readonly ReadyWorker[] | ExitCode> {
    const all = Array.from({ length: this.#count }, (_, index) => this.#fork(index));
    const failed = Promise.race(all.map(({ exited }) => exited));
    const started = await Promise.race([Promise.all(all.map(({ ready }) => ready)), failed]);
    if (typeof started !== "object") {
      this.#isStopping = true;
      return started === exitCodes.notFound ? exitCodes.notFound : exitCodes.invalid;
    }
    for (const [index] of this.#running) void this.#keep(index);
    return started;
  }

  signal(signal: NodeJS.Signals): void {
    for (const { worker } of this.#running.values()) worker.process.kill(signal);
  }

  /** Restarts one worker after the other, as long as each becomes ready again. */
  restart(): Promise<void> {
    this.#restarting = this.#restarting.then(async () => {
      for (let index = 0; index < this.#count && !this.#isStopping; index += 1) {
        this.#log.info({ worker: index }, "restarting a worker");
        await this.#end(index);
        try {
          // Replaced by now, unless all are to stop.
          await this.#running.get(index)?.ready;
        } catch {
          if (!this.#isStopping) {
            this.#log.error({ worker: index }, "the restarted worker failed to start: the others are not restarted");
          }
          return;
        }
      }
    });
    return this.#restarting;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#running.keys()].map((index) => this.#end(index)));
  }

  async #end(index: number): Promise<void> {
    const running = this.#running.get(index);
    if (running === undefined) return;
    this.#stopping.add(index);
    running.worker.process.kill("SIGTERM");
    // The worker may have ended already, and be the last one that the others waited for.
    this.#closeDrained();
    await running.exited;
  }

  /** Restarts a worker whenever it ends. */
  async #keep(index: number): Promise<void> {
    for (;;) {
      const since = performance.now();
      const running = this.#running.get(index);
      const ending = await running?.exited;
      const wasAsked = this.#stopping.has(index);
      if (this.#isStopping) return;
      this.#stopping.delete(index);
      if (!wasAsked) {
        this.#log.error(
          { worker: index, worker_pid: running?.worker.process.pid, by: ending },
          "a worker ended: starting another",
        );
        if (performance.now() - since < SHORT_LIFE_MS) await delay(PAUSE_MS);
        if (this.#isStopping) return;
      }
      const next = this.#fork(index);
      next.ready.then(
        () => this.#log.info({ worker: index, worker_pid: next.worker.process.pid }, "the worker is ready"),
        () => {},
      );
    }
  }

  #fork(index: number): Running {
    const worker = cluster.fork(environmentOf({ index, count: this.#count, folder: this.#folder }));
    const exited = new Promise<number | string>((resolve) => {
      worker.once("exit", (code: number | null, signal: string) => resolve(code ?? signal));
      // A process that could not be started does not exit either.
      worker.on("error", (error) => {
        this.#log.error({ worker: index, err: error }, "a worker failed");
        if (worker.process.pid === undefined) resolve(exitCodes.invalid);
      });
    });
    const ready = new Promise<ReadyWorker>((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if ("ready" in message) resolve(message.ready);
        else this.#drained(index, running);
      });
      void exited.then(() => reject(new Error("the worker ended")));
    });
    ready.catch(() => {});
    const running: Running = { worker, ready, exited, isDrained: false };
    this.#running.set(index, running);
    void exited.then(() => {
      running.isDrained = true;
      if (this.#stopping.has(index)) this.#closeDrained();
    });
    return running;
  }

  #drained(index: number, running: Running): void {
    running.isDrained = true;
    if (this.#running.get(index) !== running) return;
    // A worker may also get its signal from elsewhere.
    this.#stopping.add(index);
    this.#closeDrained();
  }

  /** The counters of a worker are needed until all workers that stop with it have answered their requests. */
  #closeDrained(): void {
    const stopping = [...this.#stopping].map((each) => this.#running.get(each));
    if (stopping.some((each) => each?.isDrained === false)) return;
    for (const each of stopping) if (each?.worker.isConnected()) tell(each.worker, { close: true });
  }
}

function tell(worker: Worker, message: ToWorker): void {
  worker.send(message, () => {});
}
