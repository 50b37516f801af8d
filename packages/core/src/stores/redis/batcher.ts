import type { Request } from "./script-request.ts";

/** What waits for one node, and how many calls to it are under way. */
interface Tray {
  readonly node: string;
  requests: Request[];
  underWay: number;
}

/**
 * Collects requests and sends them on together: those for one node in one go, up to `most` at a time. While a call
 * is under way they wait until all sockets that are ready have been read; when none is, only until the code that
 * asks has run, for then waiting longer costs more than it spares.
 */
export class Batcher {
  private readonly most: number;
  private readonly nodeOf: (request: Request) => string;
  private readonly send: (requests: readonly Request[], node: string) => Promise<void>;
  /** Trays stay: a map that is filled and emptied thousands of times a second keeps what it held from the collector. */
  private readonly trays = new Map<string, Tray>();

  constructor(
    most: number,
    nodeOf: (request: Request) => string,
    send: (requests: readonly Request[], node: string) => Promise<void>,
  ) {
    this.most = most;
    this.nodeOf = nodeOf;
    this.send = send;
  }

  add(request: Request): void {
    const tray = this.trayOf(this.nodeOf(request));
    const count = tray.requests.push(request);
    if (count >= this.most) this.empty(tray);
    else if (count > 1) return;
    else if (tray.underWay > 0) setImmediate(() => this.empty(tray));
    else process.nextTick(() => this.empty(tray));
  }

  flush(): void {
    for (const tray of this.trays.values()) this.empty(tray);
  }

  private trayOf(node: string): Tray {
    const known = this.trays.get(node);
    if (known !== undefined) return known;
    const tray = { node, requests: [], underWay: 0 };
    this.trays.set(node, tray);
    return tray;
  }

  private empty(tray: Tray): void {
    const { requests, node } = tray;
    if (requests.length === 0) return;
    tray.requests = [];
    tray.underWay += 1;
    void this.send(requests, node).finally(() => {
      tray.underWay -= 1;
    });
  }
}
