import cluster from "node:cluster";
import type { ReadyNode, WorkerPlace } from "headgate-server";

/** Tells a worker its place: messages that arrive before the program is loaded are lost. */
const VARIABLE = "HEADGATE_WORKER";

/** From the supervisor to a worker that is drained. */
export interface ToWorker {
  readonly close: true;
}

/** What a worker reports when it is ready. */
export interface ReadyWorker extends ReadyNode {
  readonly firstKeyFile?: string | undefined;
}

/** From a worker to the supervisor. `drained`: all requests are answered, and its counters can be given up. */
export type FromWorker = { readonly ready: ReadyWorker } | { readonly drained: true };

/** The environment of a worker with this place. */
export function environmentOf(place: WorkerPlace): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(place) };
}

/** The place of this process, if it was started as a worker. Must be called before the settings are read. */
export function placeOfWorker(): WorkerPlace | undefined {
  if (!cluster.isWorker) return undefined;
  const { [VARIABLE]: place = "null" } = process.env;
  // It is not a setting.
  delete process.env[VARIABLE];
  return JSON.parse(place) ?? undefined;
}

export function tellSupervisor(message: FromWorker): void {
  process.send?.(message);
}

/** Tells the supervisor that this worker is drained, and resolves when all that stop with it are. */
export function drainedWithOthers(): Promise<void> {
  return new Promise((resolve) => {
    process.once("message", () => resolve()).once("disconnect", resolve);
    tellSupervisor({ drained: true });
  });
}
