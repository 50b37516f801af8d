import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { isWhole, requireRight } from "./responses.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/** Persistent connections, each of which sends the next request when the response has arrived. */
export class Clients {
  private readonly sockets: readonly Socket[];
  private readonly limited: boolean;

  private constructor(sockets: readonly Socket[], limited: boolean) {
    this.sockets = sockets;
    this.limited = limited;
  }

  /** `limited`: whether responses must, or must not, have rate limit headers. */
  static async connect(port: number, count: number, limited: boolean): Promise<Clients> {
    const sockets = Array.from({ length: count }, () => connect({ port, host: "127.0.0.1", noDelay: true }));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    return new Clients(
      sockets.map((socket) => socket.setEncoding("latin1")),
      limited,
    );
  }

  /** Sends requests while `wantsMore` returns true for the number answered. Returns the total. */
  async ask(wantsMore: (answered: number) => boolean): Promise<number> {
    let answered = 0;
    const goOn = () => {
      answered += 1;
      return wantsMore(answered);
    };
    await Promise.all(this.sockets.map((socket) => this.converse(socket, goOn)));
    return answered;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private converse(socket: Socket, goOn: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let text = "";
      const end = (error?: Error) => {
        socket.off("data", read).off("close", closed).off("error", end);
        if (error === undefined) resolve();
        else reject(error);
      };
      const closed = () => end(new Error("the server closed a connection"));
      const read = (chunk: string) => {
        try {
          text += chunk;
          if (!isWhole(text)) return;
          requireRight(text, { limited: this.limited });
        } catch (error) {
          return end(error instanceof Error ? error : new Error(String(error)));
        }
        text = "";
        if (goOn()) socket.write(REQUEST);
        else end();
      };
      socket.on("data", read).once("close", closed).once("error", end);
      socket.write(REQUEST);
    });
  }
}
