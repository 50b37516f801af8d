import { makeLog, type RunningNode, serve, welcome } from "headgate-server";
import { type ExitCode, exitCodes } from "../failure.ts";
import { asMissingFile, type SettingOptions, settingsOf } from "../settings/settings.ts";
import { firstSignal } from "./signals.ts";

/** `headgate serve`: for people on standard output, for machines in JSON on standard error. */
export async function serveNode(options: SettingOptions): Promise<ExitCode> {
  const { settings } = await settingsOf(options);
  const log = await makeLog(settings, (line) => process.stderr.write(line));
  // Node would print them between the lines of JSON.
  process.removeAllListeners("warning").on("warning", (warning: NodeJS.ErrnoException) => {
    // A Redis that drops counters lets in whom it should not, and no call ever fails for it.
    const level = warning.code === "HG_EVICTION" ? "error" : "warn";
    log[level]({ code: warning.code, err: warning }, warning.message);
  });
  let node: RunningNode;
  try {
    node = await serve(settings, log);
  } catch (error) {
    throw asMissingFile(error);
  }
  const signalled = firstSignal();
  process.stdout.write(await welcome(node, settings));
  const { url, grpcAddress, rules, store } = node;
  log.info({ http: url, grpc: grpcAddress, rules, store }, "ready");
  log.info({ signal: await signalled }, "stopping");
  await node.stop();
  log.info("stopped");
  return exitCodes.done;
}
