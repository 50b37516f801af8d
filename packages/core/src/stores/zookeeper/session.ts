import { Socket } from "node:net";
import { type Client, createClient } from "node-zookeeper-client";
import type { StoreError } from "../../errors.ts";
import { localTime } from "../server-clock.ts";
import { unreachable } from "./zookeeper-errors.ts";

export type Done<T> = (error: unknown, value: T) => void;

export interface SessionOptions {
  readonly sessionTimeoutMs: number;
  /** How long a server may be silent while it is asked something, in milliseconds. */
  readonly silenceMs: number;
  /** A user and a password with a colon between them. */
  readonly auth: string | undefined;
  readonly onOpen: () => void;
  /** Told once, with the reason, whether it was ever open or not. */
  readonly onEnd: (reason: string) => void;
}

/**
 * One session with one server, from its beginning to its end. The client that it uses has no timeout for reading,
 * connects again by itself with half a reply in its buffer, and lets an error that it does not know out of the
 * socket's handler: so its socket is taken out of its hands, and each client serves once.
 */
export class Session {
  // Private, because both hold the password.
  readonly #client: Client;
  readonly #options: SessionOptions;
  private readonly calls = new Set<(error: StoreError) => void>();
  private readonly watchdog: NodeJS.Timeout;
  private socket: Socket | undefined;
  private isOpen = false;
  /** Why it ends, once it does. */
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
    this.#client.once("authenticationFailed", () => this.drop("the server refuses the user or the password"));
    this.#client.connect();
    // It makes its socket in the next tick, and this comes after that.
    process.nextTick(() => this.adopt());
    // What has arrived is read before the server is called silent: timers come before I/O.
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

  /** Ends the session, after the replies to what was asked. */
  close(): void {
    if (!this.isOpen) {
      this.drop("it was closed");
      return;
    }
    // The server's reply is to close the connection; one that does not is dropped as silent.
    this.call(() => {}).catch(() => {});
    this.#client.close();
  }

  private drop(reason: string): void {
    this.reason ??= reason;
    // With an error, for then the client clears its timer.
    this.socket?.destroy(new Error(reason));
  }

  private adopt(): void {
    const socket = socketOf(this.#client);
    if (socket === undefined) {
      this.reason = "this node-zookeeper-client is made otherwise than version 1.1";
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
        this.drop(`the client cannot read what the server said: ${error instanceof Error ? error.message : error}`);
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
    // The client says something itself after a third of the session's time without anything to say.
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

/** The one thing of the client's that it does not show. */
function socketOf(client: Client): Socket | undefined {
  const manager = "connectionManager" in client ? client.connectionManager : undefined;
  const socket = typeof manager === "object" && manager !== null && "socket" in manager ? manager.socket : undefined;
  return socket instanceof Socket ? socket : undefined;
}
