import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { isWhole } from "../http/responses.ts";
import { type Served, startServed } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { CHECK, checkRequest } from "./rest-requests.ts";
import { REST_ECHO as ECHO } from "./subjects.ts";

const CONNECTIONS = 64;
const WARM_UP_REQUESTS = 30_000;
/** The two servers take turns, so that other load on the machine affects both alike. */
const TURNS = 10;

/** Checks per second, compared with bare fastify that parses the same body and echoes it. */
export async function measureRest({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const isDenied = experiment === "rest-denied";
  const endpoint = isDenied ? CHECK.denied : CHECK.allowed;
  const expected = subject !== ECHO && isDenied ? 429 : 200;
  const contest = [
    await Contestant.start(await restProcess(ECHO), endpoint, 200),
    await Contestant.start(await restProcess(subject), endpoint, expected),
  ];
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      // Alternate which server goes first.
      for (const contestant of turn % 2 === 0 ? contest : contest.toReversed()) await contestant.run(timedMs / TURNS);
    }
    const [echo, own] = contest.map(({ rate }) => rate);
    return { [experiment]: own, [`${experiment}-share`]: (100 * own) / echo };
  } finally {
    await Promise.all(contest.map((contestant) => contestant.close()));
  }
}

function restProcess(subject: string): Promise<Served> {
  return startServed(new URL("./rest-process.js", import.meta.url), [subject]);
}

/** A server, and the connections that load it, each with one request at a time. */
export class Contestant {
  private readonly server: Served;
  private readonly sockets: readonly Socket[];
  private readonly endpoint: string;
  private readonly expected: number;
  /** Answered in all turns so far. */
  requests = 0;
  private processorMs = 0;
  private asked = 0;

  private constructor(server: Served, sockets: readonly Socket[], endpoint: string, expected: number) {
    this.server = server;
    this.sockets = sockets;
    this.endpoint = endpoint;
    this.expected = expected;
  }

  static async start(
    server: Served,
    endpoint: string,
    expected: number,
    warmUpRequests = WARM_UP_REQUESTS,
  ): Promise<Contestant> {
    const sockets = Array.from({ length: CONNECTIONS }, () =>
      connect({ port: server.port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1"),
    );
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    const contestant = new Contestant(server, sockets, endpoint, expected);
    // To be denied, a user must have been admitted once.
    if (expected === 429) await contestant.useUp();
    await contestant.load((answered) => answered < warmUpRequests);
    return contestant;
  }

  async run(ms: number): Promise<void> {
    const before = await this.server.processorMs();
    const end = performance.now() + ms;
    this.requests += await this.load(() => performance.now() < end);
    this.processorMs += (await this.server.processorMs()) - before;
  }

  /** Thousands of requests per second of the server's CPU time. */
  get rate(): number {
    return this.requests / this.processorMs;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await this.server.close();
  }

  private async useUp(): Promise<void> {
    await Promise.all(this.sockets.map((socket) => this.converse(socket, () => this.asked < 1_000, 200)));
  }

  private async load(wantsMore: (answered: number) => boolean): Promise<number> {
    let answered = 0;
    const goOn = () => {
      answered += 1;
      return wantsMore(answered);
    };
    await Promise.all(this.sockets.map((socket) => this.converse(socket, goOn, this.expected)));
    return answered;
  }

  private converse(socket: Socket, goOn: () => boolean, expected: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let text = "";
      const ask = () => {
        socket.write(checkRequest(this.endpoint, this.asked));
        this.asked += 1;
      };
      const end = (error?: Error) => {
        socket.off("data", read).off("close", closed).off("error", end);
        if (error === undefined) resolve();
        else reject(error);
      };
      const closed = () => end(new Error("the server closed a connection"));
      const read = (chunk: string) => {
        text += chunk;
        if (!isWhole(text)) return;
        // A server that answers incorrectly is not fast.
        if (!text.startsWith(`HTTP/1.1 ${expected} `)) return end(new Error(`answered ${text}`));
        text = "";
        if (goOn()) ask();
        else end();
      };
      socket.on("data", read).once("close", closed).once("error", end);
      ask();
    });
  }
}
