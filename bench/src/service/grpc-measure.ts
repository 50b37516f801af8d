import { Client, type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import { type Served, startServed } from "../run/served.ts";
import type { Figures, Task } from "../suite.ts";
import { CHECKS_IN_A_MESSAGE, checksOf, ENDPOINTS, isRight, METHODS, messagesOf, sameBytes } from "./grpc-requests.ts";
import { KEY } from "./rest-requests.ts";
import { GRPC_ECHO as ECHO } from "./subjects.ts";

const PROCESS = new URL("./grpc-process.js", import.meta.url);

/** Calls in flight; fewer if messages have many checks. */
const CALLERS = { unary: 64, batch: 8, stream: 8 } as const;
const WARM_UP_CHECKS = { unary: 30_000, batch: 200_000, stream: 200_000 } as const;
/** The two servers take turns, so that other load on the machine affects both alike. */
const TURNS = 10;
/** A node rejects more than 100,000 checks per second, so its capacity is derived from the CPU time of fewer. */
const MOST_CHECKS_PER_MS = 90;

export interface Load {
  readonly shape: keyof typeof METHODS;
  readonly isDenied: boolean;
}

/** Checks per second of the server's CPU time; for single checks also compared with a bare echo. */
export async function measureGrpc({ experiment, subject, timedMs }: Task, load: Load): Promise<Figures> {
  const own = await Contestant.start(subject, load);
  const contest = load.shape === "unary" ? [await Contestant.start(ECHO, load), own] : [own];
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      // Alternate which server goes first.
      for (const contestant of turn % 2 === 0 ? contest : contest.toReversed()) await contestant.run(timedMs / TURNS);
    }
    const [echo] = contest;
    if (load.shape !== "unary") return { [experiment]: own.rate };
    return { [experiment]: own.rate, [`${experiment}-share`]: (100 * own.rate) / echo.rate };
  } finally {
    await Promise.all(contest.map((contestant) => contestant.close()));
  }
}

/** A server, and the calls that load it. */
class Contestant {
  private readonly server: Served;
  private readonly client: Client;
  private readonly metadata = new Metadata();
  private readonly load: Load;
  private readonly isEcho: boolean;
  private readonly messages: readonly Buffer[];
  private readonly checksEach: number;
  private next = 0;
  private checks = 0;
  private processorMs = 0;

  private constructor(server: Served, load: Load, isEcho: boolean) {
    this.server = server;
    this.client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
    this.metadata.set("authorization", `Bearer ${KEY}`);
    this.load = load;
    this.isEcho = isEcho;
    const { shape, isDenied } = load;
    const checks = checksOf(isDenied ? ENDPOINTS.denied : ENDPOINTS.allowed);
    this.messages = shape === "unary" ? checks : messagesOf(checks, shape === "batch" ? 1 : 2);
    this.checksEach = shape === "unary" ? 1 : CHECKS_IN_A_MESSAGE;
  }

  static async start(subject: string, load: Load): Promise<Contestant> {
    const contestant = new Contestant(await startServed(PROCESS, [subject]), load, subject === ECHO);
    // To be denied, a user must have been admitted once.
    for (const message of contestant.messages) await contestant.unaryCall(message, load.shape === "unary");
    await contestant.ask((asked) => asked < WARM_UP_CHECKS[load.shape]);
    return contestant;
  }

  async run(ms: number): Promise<void> {
    const before = await this.server.processorMs();
    const end = performance.now() + ms;
    this.checks += await this.ask(() => performance.now() < end);
    this.processorMs += (await this.server.processorMs()) - before;
  }

  /** Thousands of checks per second of the server's CPU time. */
  get rate(): number {
    return this.checks / this.processorMs;
  }

  async close(): Promise<void> {
    this.client.close();
    await this.server.close();
  }

  /** Sends calls while `wantsMore` returns true for the number of checks. Returns the total. */
  private async ask(wantsMore: (asked: number) => boolean): Promise<number> {
    const start = performance.now();
    let asked = 0;
    const goOn = async (): Promise<boolean> => {
      if (!wantsMore(asked)) return false;
      asked += this.checksEach;
      const early = asked / MOST_CHECKS_PER_MS - (performance.now() - start);
      if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
      return true;
    };
    const callers = Array.from({ length: CALLERS[this.load.shape] }, () =>
      this.load.shape === "stream" ? this.converse(goOn) : this.call(goOn),
    );
    await Promise.all(callers);
    return asked;
  }

  private async call(goOn: () => Promise<boolean>): Promise<void> {
    while (await goOn()) this.judge(await this.unaryCall(this.nextMessage()));
  }

  /** A stream with one message at a time. */
  private async converse(goOn: () => Promise<boolean>): Promise<void> {
    const stream = this.client.makeBidiStreamRequest(METHODS.stream, sameBytes, sameBytes, this.metadata);
    const failed = new Promise<never>((_, reject) => {
      stream.on("error", reject);
    });
    while (await goOn()) {
      stream.write(this.nextMessage());
      this.judge(await Promise.race([failed, answerOf(stream)]));
    }
    stream.end();
  }

  private unaryCall(message: Buffer, isSingle = this.load.shape === "unary"): Promise<Buffer> {
    const { shape } = this.load;
    const path = isSingle ? METHODS.unary : shape === "stream" ? METHODS.batch : METHODS[shape];
    // In a stream, the checks are in another field than in a batch.
    const bytes = !isSingle && shape === "stream" ? asBatch(message) : message;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest<Buffer, Buffer>(path, sameBytes, sameBytes, bytes, this.metadata, (error, answer) =>
        answer === undefined ? reject(error) : resolve(answer),
      );
    });
  }

  private nextMessage(): Buffer {
    this.next = (this.next + 1) % this.messages.length;
    return this.messages[this.next];
  }

  /** A server that answers incorrectly is not fast. */
  private judge(answer: Buffer): void {
    if (this.isEcho || isRight(answer, this.load.shape, this.load.isDenied)) return;
    throw new Error(`answered ${answer.toString("hex")}`);
  }
}

function answerOf(stream: ClientDuplexStream<Buffer, Buffer>): Promise<Buffer> {
  return new Promise((resolve) => {
    stream.once("data", resolve);
  });
}

function asBatch(message: Buffer): Buffer {
  const batch = Buffer.from(message);
  for (let at = 0; at < batch.length; at += 2 + batch[at + 1]) batch[at] = 0x0a;
  return batch;
}
