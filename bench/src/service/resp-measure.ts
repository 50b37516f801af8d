import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { onCore } from "../run/cores.ts";
import { type Served, startServed } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { type Commands, GCRA_IN_LUA, luaCommands, throttleCommands } from "./resp-commands.ts";
import { KEY } from "./rest-requests.ts";
import { RESP_CONSTANT, RESP_LUA } from "./subjects.ts";

const CONNECTIONS = 64;
const WARM_UP_COMMANDS = 300_000;
/** The servers take turns, so that other load on the machine affects all alike. */
const TURNS = 10;
const SERVER_CORE = 0;
const PIPELINES: Readonly<Record<string, number>> = { "resp-single": 1, "resp-pipeline": 16 };

/** Checks per second of CPU time, compared with a server that answers constants. */
export async function measureResp({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const pipeline = PIPELINES[experiment] ?? 1;
  const contest = [await Contestant.start(RESP_CONSTANT, pipeline), await Contestant.start(subject, pipeline)];
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const contestant of turn % 2 === 0 ? contest : contest.toReversed()) await contestant.run(timedMs / TURNS);
    }
    const [constant, own] = contest.map(({ rate }) => rate);
    return { [experiment]: own, [`${experiment}-share`]: (100 * own) / constant };
  } finally {
    await Promise.all(contest.map((contestant) => contestant.close()));
  }
}

/** A server, and the connections that load it, each with one batch of commands at a time. */
class Contestant {
  private readonly server: Served;
  private readonly sockets: readonly Socket[];
  private readonly commands: Commands;
  private readonly pipeline: number;
  private answered = 0;
  private processorMs = 0;

  private constructor(server: Served, sockets: readonly Socket[], commands: Commands, pipeline: number) {
    this.server = server;
    this.sockets = sockets;
    this.commands = commands;
    this.pipeline = pipeline;
  }

  static async start(subject: string, pipeline: number): Promise<Contestant> {
    const isLua = subject === RESP_LUA;
    const server = isLua
      ? await startLua()
      : await startServed(new URL("./resp-process.js", import.meta.url), [subject]);
    const sockets = Array.from({ length: CONNECTIONS }, () =>
      connect({ port: server.port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1"),
    );
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    if (!isLua) await Promise.all(sockets.map(authenticate));
    const contestant = new Contestant(server, sockets, isLua ? luaCommands() : throttleCommands(), pipeline);
    await contestant.load((answered) => answered < WARM_UP_COMMANDS);
    return contestant;
  }

  async run(ms: number): Promise<void> {
    const before = await this.server.processorMs();
    const end = performance.now() + ms;
    this.answered += await this.load(() => performance.now() < end);
    this.processorMs += (await this.server.processorMs()) - before;
  }

  /** Thousands of checks per second of the server's CPU time. */
  get rate(): number {
    return this.answered / this.processorMs;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await this.server.close();
  }

  private async load(wantsMore: (answered: number) => boolean): Promise<number> {
    let answered = 0;
    const goOn = () => {
      answered += this.pipeline;
      return wantsMore(answered);
    };
    await Promise.all(this.sockets.map((socket) => this.converse(socket, goOn)));
    return answered;
  }

  private converse(socket: Socket, goOn: () => boolean): Promise<void> {
    const { commands, pipeline } = this;
    return new Promise((resolve, reject) => {
      let lines = 0;
      let isBegun = false;
      const ask = () => socket.write(commands.next(pipeline), "latin1");
      const end = (error?: Error) => {
        socket.off("data", read).off("close", closed).off("error", end);
        if (error === undefined) resolve();
        else reject(error);
      };
      const closed = () => end(new Error("the server closed a connection"));
      const read = (text: string) => {
        // A server that answers incorrectly is not fast.
        if (!isBegun && !text.startsWith(commands.passes)) return end(new Error(`answered ${text.slice(0, 100)}`));
        isBegun = true;
        for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
        if (lines < pipeline * commands.lines) return;
        lines = 0;
        isBegun = false;
        if (goOn()) ask();
        else end();
      };
      socket.on("data", read).once("close", closed).once("error", end);
      ask();
    });
  }
}

async function authenticate(socket: Socket): Promise<void> {
  socket.write(`*2\r\n$4\r\nAUTH\r\n$${KEY.length}\r\n${KEY}\r\n`);
  await once(socket, "data");
}

/** A Redis that has the script, and reports its CPU time itself. */
async function startLua(): Promise<Served> {
  const redis = await startRedis({ launcher: onCore(SERVER_CORE) });
  const client = new Redis(redis.url);
  await client.script("LOAD", GCRA_IN_LUA);
  return {
    port: redis.port,
    async processorMs() {
      const info = await client.info("cpu");
      const seconds = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
      return (seconds("used_cpu_user") + seconds("used_cpu_sys")) * 1000;
    },
    async close() {
      client.disconnect();
      await redis.stop();
    },
  };
}
