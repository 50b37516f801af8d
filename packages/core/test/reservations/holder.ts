import { get } from "node:http";
import { ForkedProcess } from "headgate-testkit/forked-process";

/** A process of its own that serves requests which reserve. */
export class Holder {
  readonly process: ForkedProcess;
  private port = 0;

  private constructor(args: readonly string[]) {
    this.process = new ForkedProcess(new URL("holder.mjs", import.meta.url), args);
  }

  static async start(url: string, prefix: string, rules: object, options: object): Promise<Holder> {
    const holder = new Holder([url, prefix, JSON.stringify(rules), JSON.stringify(options)]);
    const { port } = await holder.process.next<{ readonly port: number }>((message) => "port" in message);
    holder.port = port;
    return holder;
  }

  /** Sends a request, and answers when it has reserved. What becomes of it afterwards is seen in the store. */
  async reserve(path: string): Promise<void> {
    const reserved = this.process.next<{ readonly reserved?: string }>((message) => message.reserved === path);
    const request = get({ port: this.port, host: "127.0.0.1", path, agent: false }, (response) => response.resume());
    request.on("error", () => {});
    await reserved;
  }

  /** Tells a request what it costs; answers at once. */
  settle(path: string, cost: number): void {
    this.process.send({ path, cost });
  }
}
