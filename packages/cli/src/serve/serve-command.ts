import { keepFirstKey, openLog, type RunningNode, serve, welcome } from "headgate-server";
import { type ExitCode, exitCodes } from "../failure.ts";
import { asMissingFile, type SettingOptions, settingsOf } from "../settings/settings-of-flags.ts";
import { handleSignals } from "./signals.ts";
import { removeWithoutSupervisor } from "./socket-folder.ts";
import { drainedWithOthers, placeOfWorker, tellSupervisor } from "./worker-messages.ts";

/** `headgate serve`: writes messages for people to standard output, and the log to standard error or a file. */
export async function serveNode(options: SettingOptions): Promise<ExitCode> {
  const worker = placeOfWorker();
  const { settings } = await settingsOf(options);
  if (settings.workers > 1 && worker === undefined) {
    return (await import("./supervise-workers.ts")).superviseWorkers(settings);
  }
  if (worker !== undefined) removeWithoutSupervisor(worker.folder);
  const signals = handleSignals();
  const { log, output } = await openLog(settings);
  // A closed pipe, as with `| head`, must not stop the service.
  process.stdout.removeAllListeners("error").on("error", () => {});
  // Node would print warnings between the lines of the log.
  process.removeAllListeners("warning").on("warning", (warning: NodeJS.ErrnoException) => {
    // A Redis that evicts counters admits too many requests although no call fails.
    const level = warning.code === "HG_EVICTION" ? "error" : "warn";
    log[level]({ code: warning.code, err: warning }, warning.message);
  });
  let firstKeyFile: string | undefined;
  // Output that is not a terminal is stored somewhere and readable by others.
  const keep = async (secret: string): Promise<void> => {
    if (!process.stdout.isTTY) firstKeyFile = await keepFirstKey(settings, secret);
  };
  let started: RunningNode | NodeJS.Signals;
  try {
    const starting = serve(settings, log, {
      lostLogLines: () => output.lost,
      keepFirstKey: keep,
      ...(worker && { worker, drained: drainedWithOthers }),
    });
    // Starting may have to wait for PostgreSQL.
    started = await Promise.race([starting, signals.stop]);
  } catch (error) {
    throw asMissingFile(error);
  }
  if (typeof started === "string") {
    log.info({ signal: started }, "stopped before the node was ready");
    await output.flush();
    process.exit(exitCodes.done);
  }
  const node = started;
  signals.onReload(() => {
    try {
      output.reopen();
    } catch (error) {
      log.error({ err: error }, "cannot reopen the log file: still writing to the old one");
    }
    log.info({ signal: "SIGHUP" }, "reloading");
    void node.reload();
  });
  const { url, addresses, rules, store, firstKey } = node;
  if (worker === undefined) process.stdout.write(await welcome(node, settings, firstKeyFile));
  else tellSupervisor({ ready: { url, addresses, rules, store, firstKey, firstKeyFile } });
  if (firstKeyFile !== undefined) {
    log.warn({ file: firstKeyFile }, "the first admin key is in this file: store it elsewhere, then remove the file");
  }
  // Of a worker, the supervisor reports it for all.
  const level = worker === undefined ? "info" : "debug";
  log[level]({ http: url, ...addresses, rules, store }, "ready");
  log[level]({ signal: await signals.stop }, "stopping");
  await node.stop();
  log[level]("stopped");
  await output.flush();
  return exitCodes.done;
}
