import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { MemoryStore } from "headgate";
import { mergeMetrics } from "./merge-metrics.ts";
import { ReceivedCalls } from "./received-calls.ts";
import { eachFrame, FrameWriter } from "./worker-frames.ts";
import { WorkerLink } from "./worker-link.ts";
import type { WorkerPlace } from "./worker-place.ts";
import { REPORTS, type ReportMessage, type RequestMessage, wireErrorOf } from "./worker-wire.ts";

/** How long a worker that starts waits for the others. */
const START_MS = 15_000;
const RETRY_MS = 20;
/** How long a worker waits for what others report. */
const REPORT_MS = 1_000;

/** What a worker does for the others. */
export interface WorkerDuties {
  /** The counters of the keys that this worker owns. */
  store?: Pick<MemoryStore, "apply" | "clock">;
  metrics?: () => Promise<string>;
  refresh?: () => Promise<void>;
}

/** The connections between the workers of a node: each one listens on a socket of its own, and calls the others. */
export class WorkerMesh {
  readonly place: WorkerPlace;
  /** Filled in while the worker starts. */
  readonly duties: WorkerDuties = {};
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #links: readonly (WorkerLink | undefined)[];

  private constructor(place: WorkerPlace) {
    this.place = place;
    this.#links = Array.from({ length: place.count }, (_, i) =>
      i === place.index
        ? undefined
        : new WorkerLink(socketOf(place.folder, i), workerName(i), () => this.duties.store?.clock),
    );
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(place: WorkerPlace): Promise<WorkerMesh> {
    const mesh = new WorkerMesh(place);
    const path = socketOf(place.folder, place.index);
    // Left by a worker that was killed.
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      // Not shared by the workers, as other listeners are.
      mesh.#server.once("error", reject).listen({ path, exclusive: true }, resolve);
    });
    return mesh;
  }

  link(index: number): WorkerLink {
    const link = this.#links[index];
    if (link === undefined) throw new Error(`${workerName(index)} is this one`);
    return link;
  }

  /** Waits until all workers can be reached. Fails with a StoreError if one cannot be. */
  async ready(): Promise<void> {
    const end = performance.now() + START_MS;
    await Promise.all(
      this.#others.map(async (link) => {
        for (;;) {
          try {
            return await link.connected();
          } catch (error) {
            if (performance.now() > end) throw error;
          }
          await delay(RETRY_MS);
        }
      }),
    );
  }

  /** Has the other workers read rules and API keys again. A worker that is down reads them when it starts. */
  async refreshOthers(): Promise<void> {
    await this.#askOthers((link) => link.refresh());
  }

  /** The metrics of all workers. A worker that does not answer is left out. */
  async metricsOfAll(): Promise<string> {
    const own = (await this.duties.metrics?.()) ?? "";
    return mergeMetrics([own, ...(await this.#askOthers((link) => link.metrics()))]);
  }

  async close(): Promise<void> {
    for (const link of this.#others) link.close();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get #others(): WorkerLink[] {
    return this.#links.filter((link) => link !== undefined);
  }

  async #askOthers<Result>(ask: (link: WorkerLink) => Promise<Result>): Promise<Result[]> {
    const late = delay(REPORT_MS, undefined, { ref: false });
    const results = await Promise.all(this.#others.map((link) => Promise.race([ask(link).catch(() => {}), late])));
    return results.filter((result) => result !== undefined);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket)).on("error", () => {});
    const calls = new ReceivedCalls(
      () => this.duties.store,
      (what, call) => void this.#asked(what, call).then((report) => write(reportFrame(report))),
    );
    const write = (frame: Buffer): void => {
      if (!socket.destroyed) socket.write(frame);
    };
    socket.on(
      "data",
      eachFrame<RequestMessage>((frame) => write(calls.answered(frame))),
    );
  }

  async #asked(what: "metrics" | "refresh", call: number): Promise<ReportMessage> {
    try {
      return [call, (await this.duties[what]?.()) ?? ""];
    } catch (error) {
      return [call, wireErrorOf(error)];
    }
  }
}

function reportFrame(report: ReportMessage): Buffer {
  const frame = new FrameWriter<ReportMessage>();
  frame.number(REPORTS);
  frame.other(report);
  return frame.take();
}

export function workerName(index: number): string {
  return `worker ${index}`;
}

function socketOf(folder: string, index: number): string {
  return join(folder, `${index}.sock`);
}
