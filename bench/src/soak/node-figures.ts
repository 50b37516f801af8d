import type { NodeProcess } from "headgate-testkit/service-process";

/** What a node says about itself in /metrics, over all of its workers. */
export interface NodeFigures {
  readonly residentMb: number;
  readonly heapMb: number;
  /** The worst of its processes, in milliseconds. */
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
  readonly checks: number;
}

const MEGABYTE = 2 ** 20;

export async function figuresOf(node: NodeProcess): Promise<NodeFigures> {
  const response = await node.request("GET", "/metrics");
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  const text = await response.text();
  const values = (name: string): number[] =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].map(([, value]) => Number(value));
  const sum = (name: string): number => values(name).reduce((total, value) => total + value, 0);
  const most = (name: string): number => Math.max(0, ...values(name));
  return {
    residentMb: sum("process_resident_memory_bytes") / MEGABYTE,
    heapMb: sum("nodejs_heap_size_used_bytes") / MEGABYTE,
    loopDelayP99Ms: 1_000 * most("nodejs_eventloop_lag_p99_seconds"),
    loopDelayMaxMs: 1_000 * most("nodejs_eventloop_lag_max_seconds"),
    checks: sum("headgate_checks_total"),
  };
}
