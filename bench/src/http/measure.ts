import { type Served, startServed } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { Clients } from "./clients.ts";
import { BARE } from "./servers/server.ts";
import { costName } from "./workloads.ts";

const CONNECTIONS = 64;
/** Less, and what is measured is the compiler at work: a limiter then seems to cost twice as much. */
const WARM_UP_REQUESTS = 30_000;
/** The two servers take turns, so that what else goes on in the machine touches both alike. */
const TURNS = 10;

/** Measures a subject beside a bare server of the same framework. */
export async function measureServer({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const contest = await Promise.all([Contestant.start(experiment, BARE), Contestant.start(experiment, subject)]);
  try {
    for (const contestant of contest) await contestant.warmUp();
    for (let turn = 0; turn < TURNS; turn += 1) {
      // Nobody shall always be the first.
      for (const contestant of turn % 2 === 0 ? contest : contest.toReversed()) await contestant.run(timedMs / TURNS);
    }
    const [bare, own] = contest.map(({ rate }) => rate);
    return { [experiment]: own, [costName(experiment)]: 100 * (1 - own / bare) };
  } finally {
    await Promise.all(contest.map((contestant) => contestant.close()));
  }
}

/** A server and the clients that load it. */
class Contestant {
  private readonly server: Served;
  private readonly clients: Clients;
  private requests = 0;
  private processorMs = 0;

  private constructor(server: Served, clients: Clients) {
    this.server = server;
    this.clients = clients;
  }

  static async start(framework: string, subject: string): Promise<Contestant> {
    const server = await startServed(new URL("./server-process.js", import.meta.url), [framework, subject]);
    return new Contestant(server, await Clients.connect(server.port, CONNECTIONS, subject !== BARE));
  }

  async warmUp(): Promise<void> {
    await this.clients.ask((answered) => answered < WARM_UP_REQUESTS);
  }

  async run(ms: number): Promise<void> {
    const before = await this.server.processorMs();
    const end = performance.now() + ms;
    this.requests += await this.clients.ask(() => performance.now() < end);
    this.processorMs += (await this.server.processorMs()) - before;
  }

  /** Thousands of requests for each second of the server's processor time. */
  get rate(): number {
    return this.requests / this.processorMs;
  }

  async close(): Promise<void> {
    this.clients.close();
    await this.server.close();
  }
}
