import { summarize } from "../report/statistics.ts";
import { type Served, startServed } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { Clients } from "./clients.ts";
import { BARE } from "./servers/server.ts";
import { costName } from "./workloads.ts";

const CONNECTIONS = 64;
/** With fewer, the compiler would be measured: a limiter then seems to cost twice as much. */
const WARM_UP_REQUESTS = 20_000;
/** Requests before each turn, to warm the caches. */
const LEAD_IN_REQUESTS = 500;
/** Number of turns per server. */
const TIMES = 10;

/**
 * Measures a subject between two bare servers of the same framework, one started before it and one after, because
 * processes of the same program differ by a few percent.
 */
export async function measureServer({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const started: Contestant[] = [];
  try {
    for (const each of [BARE, subject, BARE]) started.push(await Contestant.start(experiment, each));
    const [earlier, own, later] = started;
    return await measureBetween(earlier, own, later, timedMs, experiment);
  } finally {
    for (const contestant of started) await contestant.close();
  }
}

/** Other load on the machine affects all turns of a round alike, so ratios are reported. */
async function measureBetween(
  earlier: Contestant,
  own: Contestant,
  later: Contestant,
  timedMs: number,
  framework: string,
): Promise<Figures> {
  const turnMs = timedMs / (2 * TIMES);
  const rates: number[] = [];
  const costs: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    // No server has two turns in a row, because the second could profit from warm caches.
    const bare = await earlier.turn(turnMs);
    const first = await own.turn(turnMs);
    const bareAgain = await later.turn(turnMs);
    const ownRate = rate(together(first, await own.turn(turnMs)));
    rates.push(ownRate);
    costs.push(100 * (1 - ownRate / rate(together(bare, bareAgain))));
  }
  return { [framework]: summarize(rates).median, [costName(framework)]: summarize(costs).median };
}

interface Turn {
  readonly requests: number;
  readonly processorMs: number;
}

function together(one: Turn, other: Turn): Turn {
  return { requests: one.requests + other.requests, processorMs: one.processorMs + other.processorMs };
}

/** Thousands of requests per second of the server's CPU time. */
function rate({ requests, processorMs }: Turn): number {
  return requests / processorMs;
}

/** A server and the clients that load it. */
class Contestant {
  private readonly server: Served;
  private readonly clients: Clients;

  private constructor(server: Served, clients: Clients) {
    this.server = server;
    this.clients = clients;
  }

  /** Warms it up immediately: a server that is idle for some seconds before its first request stays slower. */
  static async start(framework: string, subject: string): Promise<Contestant> {
    const server = await startServed(new URL("./server-process.js", import.meta.url), [framework, subject], []);
    const clients = await Clients.connect(server.port, CONNECTIONS, subject !== BARE);
    await clients.ask((answered) => answered < WARM_UP_REQUESTS);
    return new Contestant(server, clients);
  }

  async turn(ms: number): Promise<Turn> {
    await this.clients.ask((answered) => answered < LEAD_IN_REQUESTS);
    const before = await this.server.processorMs();
    const end = performance.now() + ms;
    const requests = await this.clients.ask(() => performance.now() < end);
    return { requests, processorMs: (await this.server.processorMs()) - before };
  }

  async close(): Promise<void> {
    this.clients.close();
    await this.server.close();
  }
}
