import { readFile } from "node:fs/promises";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Address, Settings, TlsFiles } from "../config/settings.ts";
import { rateLimiter } from "./definition.ts";
import { type HandlerOptions, Handlers } from "./handlers.ts";
import { addReflection } from "./reflection.ts";

/** Of a message, in bytes: a thousand checks fit, unless they are long. */
const LARGEST_MESSAGE = 1 << 20;
const MOST_STREAMS_OF_A_CONNECTION = 1_000;
/** Connections whose other end is gone are found out. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

const SERVICE = "headgate.v1.RateLimiter";

export interface GrpcOptions extends Omit<HandlerOptions, "onError"> {
  readonly settings: { readonly grpc: Address | undefined; readonly tls: Settings["tls"] };
  /** Told of what should not happen. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningGrpc {
  /** Where it listens: the port is one that is free, if 0 was asked for. */
  readonly address: Address;
  /** Takes no new calls, and ends those that have not ended by themselves after so many milliseconds. */
  stop(graceMs: number): Promise<void>;
}

export async function startGrpc({ settings, onError = warn, ...options }: GrpcOptions): Promise<RunningGrpc> {
  const { host, port } = settings.grpc ?? { host: "127.0.0.1", port: 0 };
  const server = new Server({
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.max_concurrent_streams": MOST_STREAMS_OF_A_CONNECTION,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  });
  const handlers = new Handlers({ ...options, onError });
  server.addService(rateLimiter, handlers.methods);
  const health = new HealthImplementation({ "": "SERVING", [SERVICE]: "SERVING" });
  health.addToServer(server);
  addReflection(server);
  const bound = await bind(server, host, port, await credentials(settings.tls));
  return {
    address: { host, port: bound },
    async stop(graceMs) {
      for (const name of ["", SERVICE]) health.setStatus(name, "NOT_SERVING");
      handlers.endStreams();
      await drained(server, graceMs);
    },
  };
}

async function credentials(tls: TlsFiles | undefined): Promise<ServerCredentials> {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const [key, cert, ca] = await Promise.all([
    readFile(tls.key),
    readFile(tls.cert),
    tls.clientCa === undefined ? null : readFile(tls.clientCa),
  ]);
  return ServerCredentials.createSsl(ca, [{ private_key: key, cert_chain: cert }], ca !== null);
}

function bind(server: Server, host: string, port: number, credentials: ServerCredentials): Promise<number> {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
}

function drained(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      // What was cut off tells nobody that it has ended.
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
