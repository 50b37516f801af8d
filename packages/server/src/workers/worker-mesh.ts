import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Limit, limitFromJson, type MemoryStore, type Operation, type Rule } from "headgate";
import { mergeMetrics } from "./merge-metrics.ts";
import { WorkerLink } from "./worker-link.ts";
import type { WorkerPlace } from "./worker-place.ts";
import {
  type ApplyMessage,
  eachLine,
  figuresOf,
  type ReplyLine,
  type ReplyMessage,
  type RequestMessage,
  receivedOptions,
  wireErrorOf,
} from "./worker-wire.ts";

/** How long a worker that starts waits for the others. */
const START_MS = 15_000;
const RETRY_MS = 20;
/** How long a worker waits for what others report. */
const REPORT_MS = 1_000;

/** A rule that was sent, and the limit of calls under it. */
type Sent = readonly [Rule, Limit | null];

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
      i === place.index ? undefined : new WorkerLink(socketOf(place.folder, i), workerName(i)),
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
    const rules = new Map<number, Sent>();
    const write = (line: ReplyLine): void => {
      if (!socket.destroyed) socket.write(`${JSON.stringify(line)}\n`);
    };
    const onLine = (line: string): void => {
      const messages: readonly RequestMessage[] = JSON.parse(line);
      const replies: ReplyMessage[] = [];
      for (const message of messages) {
        if (message[0] === "apply") {
          replies.push([message[1], this.#applied(message, rules)]);
        } else if (message[0] === "define") {
          const [, id, rule, limit] = message;
          rules.set(id, [{ ...rule, limit: revived(rule.limit) }, limit === null ? null : revived(limit)]);
        } else if (message[0] === "forget") rules.clear();
        else
          void this.#asked(message[0], message[1]).then((reply) => write({ isAcknowledged: false, replies: [reply] }));
      }
      write({ isAcknowledged: true, replies });
    };
    socket.setEncoding("utf8").on("data", eachLine(onLine));
  }

  #applied([, , action, key, list, options, holders]: ApplyMessage, rules: ReadonlyMap<number, Sent>): ReplyMessage[1] {
    try {
      const operations: Operation[] = [];
      for (let i = 0; i < list.length; i += 2) {
        const sent = rules.get(list[i]);
        if (sent === undefined) throw new Error(`rule ${list[i]} was not sent`);
        const [rule, limit] = sent;
        const slot = holders?.[i / 2] ?? null;
        const operation = { rule, key, cost: list[i + 1], ...(slot !== null && { slot }) };
        operations.push(limit === null ? operation : { ...operation, limit });
      }
      const { store } = this.duties;
      if (store === undefined) throw new Error("this worker does not count yet");
      return figuresOf(store.apply(action, operations, receivedOptions(options, store.clock)));
    } catch (error) {
      return wireErrorOf(error);
    }
  }

  async #asked(what: "metrics" | "refresh", call: number): Promise<ReplyMessage> {
    try {
      return [call, (await this.duties[what]?.()) ?? ""];
    } catch (error) {
      return [call, wireErrorOf(error)];
    }
  }
}

/** A limit that was sent as JSON. */
function revived(limit: Limit): Limit {
  return limitFromJson(limit) ?? limit;
}

export function workerName(index: number): string {
  return `worker ${index}`;
}

function socketOf(folder: string, index: number): string {
  return join(folder, `${index}.sock`);
}
