import type { Request } from "./script-request.ts";

/** Requests waiting for one node, and the number of calls to it in flight. */
interface Tray {
  readonly node: string;
  requests: Request[];
  underWay: number;
  /** Called when a call has ended. */
  readonly ended: () => void;
}

/** Sends requests in one call, and says when that is over. */
export type Send = (requests: readonly Request[], node: string, ended: () => void) => void;

/**
 * Collects requests and sends those for one node together, up to `most` at a time. While a call is in flight, requests
 * wait until all ready sockets have been read; otherwise only until the calling code has run, because waiting longer
 * would cost more than it saves. An idle node gets half a call as soon as that is full. Otherwise callers that all wait
 * for the same reply would send their next requests in one call again, and node and client would take turns in working.
 */
export class Batcher {
  private readonly most: number;
  /** The size of a call that an idle node does not wait for any longer. */
  private readonly enough: number;
  private readonly nodeOf: (request: Request) => string;
  private readonly send: Send;
  /** Trays are kept: a map that is filled and emptied thousands of times a second would retain garbage. */
  private readonly trays = new Map<string, Tray>();

  constructor(most: number, nodeOf: (request: Request) => string, send: Send) {
    this.most = most;
    this.enough = Math.min(most, Math.max(2, Math.ceil(most / 2)));
    this.nodeOf = nodeOf;
    this.send = send;
  }

  add(request: Request): void {
    const tray = this.trayOf(this.nodeOf(request));
    const count = tray.requests.push(request);
    if (count >= (tray.underWay === 0 ? this.enough : this.most)) this.empty(tray);
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
    const tray: Tray = {
      node,
      requests: [],
      underWay: 0,
      ended: () => {
        tray.underWay -= 1;
      },
    };
    this.trays.set(node, tray);
    return tray;
  }

  private empty(tray: Tray): void {
    const { requests, node } = tray;
    if (requests.length === 0) return;
    tray.requests = [];
    tray.underWay += 1;
    this.send(requests, node, tray.ended);
  }
}
