import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/** Starts a proxy in front of a server, on a loopback port. At first, it forwards everything. */
export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  const proxy = new CutProxy(targetPort, await freePort());
  await proxy.accept();
  return proxy;
}

/** The network between a client and a server, as bad as a test wants it. */
export class CutProxy {
  /** Where a client connects; the same after `refuse` and `accept`. */
  readonly port: number;
  /** How long replies take more than they would. */
  delayMs = 0;
  private readonly targetPort: number;
  private readonly traps: Trap[] = [];
  private readonly clients = new Set<Socket>();
  private listener: Server | undefined;

  constructor(targetPort: number, port: number) {
    this.targetPort = targetPort;
    this.port = port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /**
   * The next request that has this text in it (any, when none is given) reaches the server, its reply never comes
   * back, and the connection is cut in its place. Answers when that has happened.
   */
  loseReply(to = ""): Promise<void> {
    return new Promise((resolve) => this.traps.push({ to: Buffer.from(to.toLowerCase()), sprung: resolve }));
  }

  /** Cuts every connection that there is; new ones are welcome. */
  cut(): void {
    for (const client of this.clients) client.destroy();
  }

  /** Cuts every connection, and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.listener?.close(resolve) ?? resolve(undefined));
    this.listener = undefined;
    this.cut();
    await closed;
  }

  async accept(): Promise<void> {
    const listener = createServer((client) => this.join(client));
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject).listen(this.port, "127.0.0.1", resolve);
    });
    this.listener = listener;
  }

  async stop(): Promise<void> {
    await this.refuse();
  }

  private join(client: Socket): void {
    const server = connect(this.targetPort, "127.0.0.1").setNoDelay();
    client.setNoDelay();
    this.clients.add(client);
    let trap: Trap | undefined;
    let sent = Promise.resolve();

    client.on("data", (request) => {
      trap ??= this.trapFor(request);
      server.write(request);
    });
    server.on("data", (reply) => {
      if (trap !== undefined) {
        client.destroy();
        trap.sprung();
        trap = undefined;
        return;
      }
      const due = performance.now() + this.delayMs;
      // One after the other, so that a shorter delay does not overtake a longer one.
      sent = sent.then(async () => {
        const left = due - performance.now();
        if (left > 0) await delay(left);
        client.write(reply);
      });
    });
    client.on("close", () => {
      this.clients.delete(client);
      // An end and no reset: the server still runs what it was sent.
      server.end();
      server.resume();
    });
    server.on("close", () => client.destroy());
    // What went wrong shows in the close that follows.
    client.on("error", () => {});
    server.on("error", () => {});
  }

  private trapFor(request: Buffer): Trap | undefined {
    const text = Buffer.from(request.toString("latin1").toLowerCase(), "latin1");
    const index = this.traps.findIndex(({ to }) => text.includes(to));
    return index < 0 ? undefined : this.traps.splice(index, 1)[0];
  }
}

interface Trap {
  readonly to: Buffer;
  readonly sprung: () => void;
}
