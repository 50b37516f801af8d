import type { Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { Address, Settings } from "../../config/settings.ts";
import { tlsOptions } from "../../runtime/tls.ts";
import { Connections } from "./connections.ts";
import { rateLimiter } from "./definition.ts";
import { Access } from "./grpc-access.ts";
import { guardCalls } from "./guarded-call.ts";
import { type HandlerOptions, Handlers } from "./handlers.ts";
import { Listener } from "./listener.ts";
import { StandardServices } from "./standard-services.ts";

/** Maximum message size in bytes: enough for a thousand checks unless they are long. */
const LARGEST_MESSAGE = 1 << 20;
/** Interval of pings that detect dead connections. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

const SERVICE = "headgate.v1.RateLimiter";

export interface GrpcOptions extends Omit<HandlerOptions, "onError"> {
  readonly settings: Pick<Settings, "grpc" | "tls" | "grpcMaxConnections" | "grpcMaxStreams" | "grpcMessageTimeoutMs">;
  /** Called for unexpected errors. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningGrpc {
  /** The address, with the port chosen by the system if 0 was requested. */
  readonly address: Address;
  /** Reloads the certificates for new connections. Throws, and changes nothing, if they cannot be used. */
  reloadCertificates(): void;
  /** Accepts no new calls, and cancels those that have not ended after this many milliseconds. */
  stop(graceMs: number): Promise<void>;
}

export async function startGrpc({ settings, onError = warn, ...options }: GrpcOptions): Promise<RunningGrpc> {
  const { tls, grpcMaxConnections, grpcMaxStreams, grpcMessageTimeoutMs } = settings;
  const { host, port } = settings.grpc ?? { host: "127.0.0.1", port: 0 };
  const connections = new Connections(grpcMaxConnections);
  const access = new Access(options);
  const { telemetry } = options;
  const server = new Server({
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.max_concurrent_streams": grpcMaxStreams,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    interceptors: [guardCalls({ access, connections, telemetry, messageTimeoutMs: grpcMessageTimeoutMs })],
  });
  const handlers = new Handlers({ ...options, onError }, access);
  server.addService(rateLimiter, handlers.methods);
  const standard = new StandardServices(server, ["", SERVICE], onError);
  // The sockets are ours, TLS included: what grpc-js is given is ready for HTTP/2.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const inUse = new Set<Socket>();
  const listener = new Listener({
    tls: tls && tlsOptions(tls),
    admit: (socket) => connections.admit(socket),
    onConnection: (socket) => {
      inUse.add(socket);
      socket.once("close", () => inUse.delete(socket));
      void standard.load().then(() => {
        if (!socket.destroyed) injector.injectConnection(socket);
      });
    },
    handshakeTimeoutMs: grpcMessageTimeoutMs,
  });
  const bound = await listener.listen({ host, port });
  return {
    address: { host, port: bound },
    reloadCertificates() {
      if (tls !== undefined) listener.setSecureContext(tlsOptions(tls));
    },
    async stop(graceMs) {
      standard.stop();
      handlers.endStreams();
      listener.close();
      await drained(server, inUse, graceMs);
      // Connections that never reached HTTP/2.
      connections.closeAll();
    },
  };
}

/**
 * Resolves when all calls have ended and their connections are closed, at the latest after the grace period. Since
 * Node 24, grpc-js does not wait for the calls of connections that it was given, so the connections are watched here.
 */
function drained(server: Server, inUse: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const closed = [...inUse].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      // Calls that are cut off do not report their end.
      resolve();
    }, graceMs);
    const shutDown = new Promise<unknown>((resolve) => server.tryShutdown(resolve));
    void Promise.all([shutDown, ...closed]).then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
