import { eventually } from "headgate-testkit/eventually";
import { type Figures, HEADGATE, type Task } from "../suite.ts";
import { contests } from "./contests.ts";
import { findProgram } from "./find-program.ts";
import { closedLoop, type Failed, type Line, type Protocol } from "./line.ts";
import { cpuSeconds, type RunningServer, residentMebibytes } from "./running-server.ts";

const CONNECTIONS = 4;
/** Requests under way on each connection. */
const DEPTH = 16;
/** The same for requests with many checks, whose data has to fit the window of HTTP/2. */
const BATCH_DEPTH = 4;
const USERS = 10_000;
const WARM_UP_CHECKS = 30_000;
/** Clients that use up one limit at the same time, and how many checks each makes. */
const CLIENTS = 50;
const CHECKS_OF_A_CLIENT = 10;
const TIMES = 10;
const START_MS = 60_000;
/** A garbage collector may take this long to notice that there is nothing to do. */
const REST_MS = 1_000;

const SUFFIXES = ["rate", "processor", "p50", "p99", "memory", "admitted"] as const;
type Measured = Readonly<Record<(typeof SUFFIXES)[number], number>>;

/** Loads a peer or Headgate, each with its protocol. */
export async function measurePeers({ experiment, subject, timedMs, keys }: Task): Promise<Figures> {
  const { program, peer, headgate } = contests[experiment];
  const { protocol } = subject === HEADGATE ? headgate : peer;
  const server = await (subject === HEADGATE ? headgate.start() : peer.start(String(findProgram(program))));
  try {
    const measured = await new Loaded(server, protocol).measure(timedMs, keys ?? 0);
    return Object.fromEntries(
      SUFFIXES.map((suffix) => [suffix === "rate" ? experiment : `${experiment}-${suffix}`, measured[suffix]]),
    );
  } finally {
    await server.end();
  }
}

/** A server, and what is sent to it. */
class Loaded {
  private readonly server: RunningServer;
  private readonly protocol: Protocol;

  constructor(server: RunningServer, protocol: Protocol) {
    this.server = server;
    this.protocol = protocol;
  }

  async measure(timedMs: number, keys: number): Promise<Measured> {
    await eventually("the server answers", () => this.isUp(), START_MS);
    const { batch = 1 } = this.protocol;
    const requests = Array.from({ length: USERS / batch }, (_, user) => this.protocol.ample(`user-${user}`));
    await this.load(requests, (sent) => sent * batch < WARM_UP_CHECKS);

    const before = cpuSeconds(this.server);
    const start = performance.now();
    const latencies = await this.load(requests, () => performance.now() - start < timedMs);
    const elapsedMs = performance.now() - start;
    const used = cpuSeconds(this.server) - before;
    latencies.sort((a, b) => a - b);
    const at = (share: number): number => latencies[Math.floor(share * latencies.length)];

    const admitted = await this.mostAdmitted();
    await this.fill(keys);
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return {
      rate: (batch * latencies.length) / elapsedMs,
      processor: (batch * latencies.length) / used / 1000,
      p50: at(0.5),
      p99: at(0.99),
      memory: residentMebibytes(this.server),
      admitted,
    };
  }

  private async isUp(): Promise<boolean> {
    const requests = [this.protocol.ample("first")];
    await this.ask(1, 1, () => requests.pop());
    return true;
  }

  /** Returns how long each check took, in milliseconds. */
  private async load(requests: readonly Buffer[], wantsMore: (sent: number) => boolean): Promise<number[]> {
    const latencies: number[] = [];
    let sent = 0;
    const next = () => {
      if (!wantsMore(sent)) return undefined;
      sent += 1;
      return requests[sent % requests.length];
    };
    const depth = this.protocol.batch === undefined ? DEPTH : BATCH_DEPTH;
    await this.ask(CONNECTIONS, depth, next, (isAdmitted, ms) => {
      // A server that answers incorrectly is not fast.
      if (!isAdmitted) throw new Error("the server denied a check of an ample limit");
      latencies.push(ms);
    });
    return latencies;
  }

  /** The most checks that were admitted when clients used up the same limit. */
  private async mostAdmitted(): Promise<number> {
    let most = 0;
    for (let time = 0; time < TIMES; time += 1) {
      const request = this.protocol.scarce(`contended-${time}`);
      let left = CLIENTS * CHECKS_OF_A_CLIENT;
      let admitted = 0;
      const next = () => {
        left -= 1;
        return left < 0 ? undefined : request;
      };
      await this.ask(CLIENTS, CHECKS_OF_A_CLIENT, next, (isAdmitted) => {
        if (isAdmitted) admitted += 1;
      });
      most = Math.max(most, admitted);
    }
    return most;
  }

  /** Makes one check of each of so many users. */
  private async fill(keys: number): Promise<void> {
    const SOME = 10_000;
    for (let from = 0; from < keys; from += SOME) {
      const users = Array.from(
        { length: Math.min(SOME, keys - from) },
        (_, i) => `key-${String(from + i).padStart(12, "0")}`,
      );
      const requests = [...this.protocol.scarceOfAll(users)];
      await this.ask(CONNECTIONS, DEPTH, () => requests.pop());
    }
  }

  private ask(
    connections: number,
    depth: number,
    next: () => Buffer | undefined,
    heard: (isAdmitted: boolean, ms: number) => void = () => {},
  ): Promise<void> {
    const { protocol, server } = this;
    const connect = (failed: Failed): Promise<Line[]> =>
      Promise.all(Array.from({ length: connections }, () => protocol.connect(server.port, failed)));
    return closedLoop(connect, depth, next, heard);
  }
}
