import type { ServerHttp2Stream } from "node:http2";
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from "@grpc/grpc-js";
import type { Telemetry, Transport } from "../../metrics/telemetry.ts";
import type { Connection, Connections } from "../shared/connections.ts";
import { endStream, streamOf } from "./call-stream.ts";
import { Rejected } from "./grpc-access.ts";
import { type Failure, MESSAGE_TIMEOUT, OPEN_MESSAGE, serviceError, TOO_MANY_OPEN_CALLS } from "./grpc-status.ts";
import { Arrival } from "./message-prefix.ts";

/** Health and reflection requests contain only names, so longer messages are not needed without a key. */
const LONGEST_OPEN_MESSAGE = 4_096;
/** Per connection, without a key. */
const MOST_OPEN_CALLS = 16;

export interface GuardOptions<Method extends string> {
  readonly transport: Transport;
  /** The method that a path names; undefined if it needs no key, as health and reflection. */
  readonly methodOf: (path: string) => Method | undefined;
  /** Throws `Rejected` if the caller may not use the method. */
  readonly requireCall: (method: Method, metadata: Metadata, address: string | undefined) => void;
  readonly connections: Pick<Connections, "of" | "authenticated">;
  readonly telemetry: Pick<Telemetry, "called">;
  /** How long a message may take to arrive once it has started. */
  readonly messageTimeoutMs: number;
}

/** Admits calls whose key has the role, before any message is read, and ends those that take too long. */
export function guardCalls<Method extends string>(options: GuardOptions<Method>): ServerInterceptor {
  return ({ path, requestStream }, call) => new GuardedCall(call, options, options.methodOf(path), requestStream);
}

/** grpc-js does not export this type. */
type Listener = Parameters<ServerInterceptingCallInterface["start"]>[0];

class GuardedCall<Method extends string> extends ServerInterceptingCall {
  private readonly call: ServerInterceptingCallInterface;
  private readonly options: GuardOptions<Method>;
  private readonly method: Method | undefined;
  private readonly isStreaming: boolean;
  private readonly stream: ServerHttp2Stream;
  private readonly started = performance.now();
  private timer: NodeJS.Timeout | undefined;
  /** Whether the client has finished sending. */
  private isWhole = false;
  private hasBegunAnswer = false;
  private unsent = 0;
  private held: (() => void) | undefined;

  constructor(
    call: ServerInterceptingCallInterface,
    options: GuardOptions<Method>,
    method: Method | undefined,
    isStreaming: boolean,
  ) {
    super(call);
    this.call = call;
    this.options = options;
    this.method = method;
    this.isStreaming = isStreaming;
    this.stream = streamOf(call);
  }

  override start(listener: Listener): void {
    this.call.start({
      onReceiveMetadata: (metadata) => this.admit(metadata, listener),
      onReceiveMessage: (message) => this.whenSent(() => listener.onReceiveMessage(message)),
      onReceiveHalfClose: () => {
        this.isWhole = true;
        clearTimeout(this.timer);
        listener.onReceiveHalfClose();
      },
      // Called when the call is over, however it ended.
      onCancel: () => {
        clearTimeout(this.timer);
        this.endStream();
        listener.onCancel();
      },
    });
  }

  override sendMetadata(metadata: Metadata): void {
    this.hasBegunAnswer = true;
    super.sendMetadata(metadata);
  }

  override sendMessage(message: unknown, callback: () => void): void {
    this.unsent += 1;
    super.sendMessage(message, () => {
      this.unsent -= 1;
      callback();
      if (this.unsent > 0) return;
      const { held } = this;
      this.held = undefined;
      held?.();
    });
  }

  private admit(metadata: Metadata, listener: Listener): void {
    const failure = this.rejectionOf(metadata);
    if (failure !== undefined) {
      this.reject(failure);
      return;
    }
    this.follow();
    listener.onReceiveMetadata(metadata);
  }

  private rejectionOf(metadata: Metadata): Failure | undefined {
    const { requireCall, connections } = this.options;
    const connection = connections.of(this.call.getPeer());
    if (this.method === undefined) return this.openCall(connection) ? undefined : TOO_MANY_OPEN_CALLS;
    try {
      requireCall(this.method, metadata, this.call.getConnectionInfo().remoteAddress);
    } catch (error) {
      if (error instanceof Rejected) return error.failure;
      throw error;
    }
    if (connection?.isAuthenticated === false) connections.authenticated(connection);
    return undefined;
  }

  private openCall(connection: Connection | undefined): boolean {
    if (connection === undefined) return true;
    if (connection.openCalls >= MOST_OPEN_CALLS) return false;
    connection.openCalls += 1;
    this.stream.once("close", () => {
      connection.openCalls -= 1;
    });
    return true;
  }

  /**
   * Health and reflection do not wait for their responses to be read. Without a key, the next message is therefore read
   * only after that, so that a client cannot fill the memory with unread responses.
   */
  private whenSent(read: () => void): void {
    if (this.method === undefined && this.unsent > 0) this.held = read;
    else read();
  }

  private follow(): void {
    const arrival = new Arrival(({ isCompressed, length }) => {
      const isTooMuch = isCompressed || length > LONGEST_OPEN_MESSAGE;
      if (this.method === undefined && isTooMuch) this.reject(OPEN_MESSAGE);
    });
    // A single request must arrive in time; a stream may be idle between messages, but not within one.
    if (!this.isStreaming) this.setTimer();
    this.stream.on("data", (chunk: Buffer) => {
      arrival.take(chunk);
      if (!this.isStreaming) return;
      if (!arrival.isPartial) this.clearTimer();
      else if (this.timer === undefined) this.setTimer();
    });
  }

  private setTimer(): void {
    this.timer = setTimeout(() => {
      // While the stream is paused, the client waits for the server.
      if (this.isStreaming && this.stream.isPaused()) this.setTimer();
      else this.reject(MESSAGE_TIMEOUT);
    }, this.options.messageTimeoutMs).unref();
  }

  private clearTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private endStream(): void {
    if (!this.isWhole) endStream(this.stream, !this.hasBegunAnswer);
  }

  private reject(failure: Failure): void {
    this.call.sendStatus(serviceError(failure));
    this.endStream();
    // A stream that has reached its handler is counted there.
    const isCounted = this.isStreaming && failure === MESSAGE_TIMEOUT;
    if (this.method === undefined || isCounted) return;
    const seconds = (performance.now() - this.started) / 1000;
    this.options.telemetry.called(this.options.transport, this.method, status[failure.code], seconds);
  }
}
