import type { PendingRequest } from "./pending-request.ts";

/** Maximum number of requests to decide together. */
const MOST_TOGETHER = 1_000;

interface Waiting {
  readonly request: PendingRequest;
  /** Number of queues in which its turn has not come yet. */
  lanesAhead: number;
}

/**
 * Queues the requests of this process for each znode, so that they do not conflict with each other. Requests that need
 * only one znode are decided together; a request that needs several waits for its turn in all of their queues. It
 * enters them at the same time, so there is no deadlock.
 */
export class ZnodeQueues {
  private readonly lanes = new Map<string, Waiting[]>();
  private readonly decide: (requests: readonly PendingRequest[]) => Promise<void>;
  private idle: (() => void) | undefined;

  constructor(decide: (requests: readonly PendingRequest[]) => Promise<void>) {
    this.decide = decide;
  }

  add(request: PendingRequest): void {
    const waiting = { request, lanesAhead: request.places.length };
    for (const place of request.places) {
      const lane = this.lanes.get(place);
      if (lane !== undefined) {
        lane.push(waiting);
        continue;
      }
      this.lanes.set(place, [waiting]);
      this.advanceSoon(place);
    }
  }

  /** Resolves when all requests are decided. */
  emptied(): Promise<void> {
    if (this.lanes.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  /** Waits until code that was awaiting the last answers has run, because it may send more requests. */
  private advanceSoon(place: string): void {
    process.nextTick(() => this.advance(place));
  }

  private advance(place: string): void {
    const lane = this.lanes.get(place);
    if (lane === undefined) return;
    const [first] = lane;
    if (first === undefined) {
      this.lanes.delete(place);
      if (this.lanes.size === 0) this.idle?.();
      return;
    }
    if (first.request.places.length === 1) {
      const next = lane.findIndex(({ request }) => request.places.length > 1);
      const together = lane.splice(0, Math.min(next < 0 ? lane.length : next, MOST_TOGETHER));
      this.run(
        together.map(({ request }) => request),
        [place],
      );
      return;
    }
    lane.shift();
    first.lanesAhead -= 1;
    if (first.lanesAhead === 0) this.run([first.request], first.request.places);
  }

  private run(requests: readonly PendingRequest[], places: readonly string[]): void {
    void this.decide(requests).finally(() => {
      for (const place of places) this.advanceSoon(place);
    });
  }
}
