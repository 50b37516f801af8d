import { Socket } from "node:net";
import { type Client, createClient } from "node-zookeeper-client";
import type { StoreError } from "../../errors.ts";
import { localTime } from "../server-clock.ts";
import { unreachable } from "./zookeeper-errors.ts";

export type Done<T> = (error: unknown, value: T) => void;

export interface SessionOptions {
  readonly sessionTimeoutMs: number;
  /** How long a server may take to respond, in milliseconds. */
  readonly silenceMs: number;
  /** `user:password`. */
  readonly auth: string | undefined;
  readonly onOpen: () => void;
  /** Called once with the reason, even if the session was never open. */
  readonly onEnd: (reason: string) => void;
}

/**
 * One session with one server. The underlying client has no read timeout, reconnects with half a reply in its buffer,
 * and lets unknown errors escape from the socket's handler. This class therefore takes over the socket, and uses each
 * client for one session only.
 */
export class Session {
  // Private, because both contain the password.
  readonly #client: Client;
  readonly #options: SessionOptions;
  private readonly calls = new Set<(error: StoreError) => void>();
  private readonly watchdog: NodeJS.Timeout;
  private socket: Socket | undefined;
  private isOpen = false;
  /** Why the session ended. */
  private reason: string | undefined;
  private heard = localTime();
  private askedFirst = 0;

  constructor(server: string, options: SessionOptions) {
    this.#options = options;
    const { sessionTimeoutMs, silenceMs, auth } = options;
    this.#client = createClient(server, { sessionTimeout: sessionTimeoutMs, retries: 0 });
    if (auth !== undefined) this.#client.addAuthInfo("digest", Buffer.from(auth));
    this.#client.once("connected", () => {
      this.isOpen = true;
      options.onOpen();
    });
    this.#client.once("authenticationFailed", () => this.drop("the server rejected the user name or password"));
    this.#client.connect();
    // The client creates its socket in the next tick; this runs after that.
    process.nextTick(() => this.adopt());
    // Timers run before I/O: pending replies are read before the server is considered silent.
    this.watchdog = setInterval(() => setImmediate(() => this.watch()), Math.ceil(silenceMs / 4)).unref();
  }

  call<T>(ask: (client: Client, done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.reason !== undefined) return reject(unreachable(this.reason));
      if (this.calls.size === 0) this.askedFirst = localTime();
      this.calls.add(reject);
      try {
        ask(this.#client, (error, value) => {
          if (!this.calls.delete(reject)) return;
          if (error) reject(error);
          else resolve(value);
        });
      } catch (error) {
        this.calls.delete(reject);
        reject(error);
      }
    });
  }

  /** Ends the session after all replies have arrived. */
  close(): void {
    if (!this.isOpen) {
      this.drop("it was closed");
      return;
    }
    // The server closes the connection in reply; otherwise it is dropped as silent.
    this.call(() => {}).catch(() => {});
    this.#client.close();
  }

  private drop(reason: string): void {
    this.reason ??= reason;
    // With an error, because the client clears its timer only then.
    this.socket?.destroy(new Error(reason));
  }

  private adopt(): void {
    const socket = socketOf(this.#client);
    if (socket === undefined) {
      this.reason = "this version of node-zookeeper-client is not supported: install version 1.1";
      this.end();
      return;
    }
    this.socket = socket;
    const read = socket.listeners("data");
    socket.removeAllListeners("data").removeAllListeners("close");
    socket.on("data", (bytes) => {
      this.heard = localTime();
      try {
        for (const each of read) each(bytes);
      } catch (error) {
        this.drop(`the client cannot parse the server's reply: ${error instanceof Error ? error.message : error}`);
      }
    });
    socket.on("error", ({ message }) => {
      this.reason ??= message;
    });
    socket.once("close", () => this.end());
    if (this.reason !== undefined) this.drop(this.reason);
  }

  private watch(): void {
    const now = localTime();
    const { silenceMs } = this.#options;
    const isAsked = !this.isOpen || this.calls.size > 0;
    const silentMs = (now - Math.max(this.heard, this.askedFirst)) / 1_000;
    // The client sends a ping after a third of the session timeout without other traffic.
    const idleMs = (now - this.heard) / 1_000;
    const isSilent =
      (isAsked && silentMs > silenceMs) || idleMs > (this.#client.getSessionTimeout() * 2) / 3 + silenceMs;
    if (isSilent) this.drop(`the server was silent for ${Math.round(idleMs)} ms`);
  }

  private end(): void {
    clearInterval(this.watchdog);
    this.reason ??= "the server closed the connection";
    const failure = unreachable(this.reason);
    const calls = [...this.calls];
    this.calls.clear();
    for (const reject of calls) reject(failure);
    this.#options.onEnd(this.reason);
  }
}

/** The only private property of the client that is needed. */
function socketOf(client: Client): Socket | undefined {
  const manager = "connectionManager" in client ? client.connectionManager : undefined;
  const socket = typeof manager === "object" && manager !== null && "socket" in manager ? manager.socket : undefined;
  return socket instanceof Socket ? socket : undefined;
}
