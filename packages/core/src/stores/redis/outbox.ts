import type { Request } from "./plan.ts";

/** Collects the requests of a tick, and sends them on together: those for one node in one go, up to `most` at a time. */
export class Outbox {
  private readonly most: number;
  private readonly nodeOf: (request: Request) => string;
  private readonly send: (requests: readonly Request[]) => void;
  private readonly waiting = new Map<string, Request[]>();

  constructor(most: number, nodeOf: (request: Request) => string, send: (requests: readonly Request[]) => void) {
    this.most = most;
    this.nodeOf = nodeOf;
    this.send = send;
  }

  add(request: Request): void {
    const node = this.nodeOf(request);
    const together = this.waiting.get(node);
    if (together === undefined) {
      // After all sockets that are ready now have been read: what they ask for goes together.
      if (this.waiting.size === 0) setImmediate(() => this.flush());
      this.waiting.set(node, [request]);
      if (this.most === 1) this.flushNode(node);
    } else if (together.push(request) >= this.most) {
      this.flushNode(node);
    }
  }

  flush(): void {
    for (const node of [...this.waiting.keys()]) this.flushNode(node);
  }

  private flushNode(node: string): void {
    const requests = this.waiting.get(node);
    this.waiting.delete(node);
    if (requests !== undefined) this.send(requests);
  }
}
