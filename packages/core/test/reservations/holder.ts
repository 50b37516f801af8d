import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";

/** A process of its own that serves requests which reserve. */
export class Holder {
  private readonly process: ChildProcess;
  private port = 0;

  private constructor(args: readonly string[]) {
    this.process = fork(new URL("holder.mjs", import.meta.url), args);
  }

  static async start(url: string, prefix: string, rules: object, options: object): Promise<Holder> {
    const holder = new Holder([url, prefix, JSON.stringify(rules), JSON.stringify(options)]);
    const { port } = await holder.told((message) => "port" in message);
    holder.port = Number(port);
    return holder;
  }

  /** Sends a request, and answers when it has reserved. What becomes of it afterwards is seen in the store. */
  async reserve(path: string): Promise<void> {
    const reserved = this.told(({ reserved }) => reserved === path);
    const request = get({ port: this.port, host: "127.0.0.1", path, agent: false }, (response) => response.resume());
    request.on("error", () => {});
    await reserved;
  }

  /** Tells a request what it costs; answers at once. */
  settle(path: string, cost: number): void {
    this.process.send({ path, cost });
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.process.kill(signal);
  }

  private async told(isIt: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const [message] = await once(this.process, "message");
      if (isIt(message)) return message;
    }
  }
}
