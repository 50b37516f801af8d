import type { Request } from "./plan.ts";

/** What waits for one node. */
interface Tray {
  readonly node: string;
  requests: Request[];
}

/** Collects the requests of a tick, and sends them on together: those for one node in one go, up to `most` at a time. */
export class Outbox {
  private readonly most: number;
  private readonly nodeOf: (request: Request) => string;
  private readonly send: (requests: readonly Request[], node: string) => void;
  /** Trays stay: a map that is filled and emptied thousands of times a second keeps what it held from the collector. */
  private readonly trays = new Map<string, Tray>();
  private isFlushDue = false;

  constructor(
    most: number,
    nodeOf: (request: Request) => string,
    send: (requests: readonly Request[], node: string) => void,
  ) {
    this.most = most;
    this.nodeOf = nodeOf;
    this.send = send;
  }

  add(request: Request): void {
    const tray = this.trayOf(this.nodeOf(request));
    if (tray.requests.push(request) >= this.most) {
      this.empty(tray);
    } else if (!this.isFlushDue) {
      // After all sockets that are ready now have been read: what they ask for goes together.
      this.isFlushDue = true;
      setImmediate(() => this.flush());
    }
  }

  flush(): void {
    this.isFlushDue = false;
    for (const tray of this.trays.values()) this.empty(tray);
  }

  private trayOf(node: string): Tray {
    const known = this.trays.get(node);
    if (known !== undefined) return known;
    const tray = { node, requests: [] };
    this.trays.set(node, tray);
    return tray;
  }

  private empty(tray: Tray): void {
    const { requests } = tray;
    if (requests.length === 0) return;
    tray.requests = [];
    this.send(requests, tray.node);
  }
}
