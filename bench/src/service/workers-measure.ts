import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { childrenOf, processorMsOf } from "../run/process-figures.ts";
import type { Served } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { Contestant } from "./rest-measure.ts";
import { CHECK, KEY, RULE } from "./rest-requests.ts";

const WORKERS = 2;
/** Each worker compiles its code, which must not count as the cost of having several. */
const WARM_UP_REQUESTS = 150_000;
/** The two nodes take turns, so that other load on the machine affects both alike. */
const TURNS = 10;

/** The capacity of a node with workers, as a multiple of that of one process. */
export async function measureWorkers({ experiment, timedMs }: Task): Promise<Figures> {
  const nodes = [await MeasuredNode.start([]), await MeasuredNode.start(["--workers", String(WORKERS)])];
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const node of turn % 2 === 0 ? nodes : nodes.toReversed()) await node.contestant.run(timedMs / TURNS);
    }
    const [one, several] = nodes.map(({ capacity }) => capacity);
    return { [experiment]: several / one };
  } finally {
    await Promise.all(nodes.map(({ contestant }) => contestant.close()));
  }
}

class MeasuredNode {
  readonly contestant: Contestant;
  private readonly processes: readonly number[];
  private readonly before: readonly number[];

  private constructor(contestant: Contestant, processes: readonly number[]) {
    this.contestant = contestant;
    this.processes = processes;
    this.before = processes.map(processorMsOf);
  }

  static async start(flags: readonly string[]): Promise<MeasuredNode> {
    const env = { HEADGATE_ADMIN_KEY: KEY, NODE_ENV: "production" };
    const node = await startNode({ flags: ["--log-level", "info", ...flags], env });
    const made = await node.request("POST", "/api/v1/rules", RULE);
    if (made.status !== 201) throw new Error(await made.text());
    const contestant = await Contestant.start(servedBy(node), CHECK.allowed, 200, WARM_UP_REQUESTS);
    const { pid = 0 } = node.child;
    return new MeasuredNode(contestant, flags.length === 0 ? [pid] : childrenOf(pid));
  }

  /** Thousands of checks per second if the busiest process had a core of its own. */
  get capacity(): number {
    const used = this.processes.map((pid, i) => processorMsOf(pid) - this.before[i]);
    return this.contestant.requests / Math.max(...used);
  }
}

function servedBy(node: NodeProcess): Served {
  return {
    port: Number(new URL(node.url).port),
    processorMs: async () => processorMsOf(node.child.pid ?? 0),
    close: () => node.end(),
  };
}
