import { Server } from "@grpc/grpc-js";
import type { Settings } from "../../config/settings.ts";
import { Connections } from "../shared/connections.ts";
import { GrpcListener } from "../shared/grpc-listener.ts";
import type { RunningTransport } from "../shared/transport.ts";
import { rateLimiter } from "./definition.ts";
import { Access } from "./grpc-access.ts";
import { guardCalls } from "./guarded-call.ts";
import { type HandlerOptions, Handlers } from "./handlers.ts";
import { METHOD_ROLES, type MethodName, methodOf } from "./method-roles.ts";
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

export async function startGrpc({ settings, onError = warn, ...options }: GrpcOptions): Promise<RunningTransport> {
  const { grpcMaxConnections, grpcMaxStreams, grpcMessageTimeoutMs } = settings;
  const { host, port } = settings.grpc ?? { host: "127.0.0.1", port: 0 };
  const connections = new Connections(grpcMaxConnections);
  const access = new Access(options);
  const { telemetry } = options;
  const guard = guardCalls<MethodName>({
    transport: "grpc",
    methodOf,
    requireCall: (method, metadata, address) => access.require(metadata, METHOD_ROLES[method], address),
    connections,
    telemetry,
    messageTimeoutMs: grpcMessageTimeoutMs,
  });
  const server = new Server({
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.max_concurrent_streams": grpcMaxStreams,
    // Statistics of grpc-js that nothing serves.
    "grpc.enable_channelz": 0,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    interceptors: [guard],
  });
  const handlers = new Handlers({ ...options, onError }, access);
  server.addService(rateLimiter, handlers.methods);
  const standard = new StandardServices(server, ["", SERVICE], onError);
  const listener = new GrpcListener(server, settings, connections, () => standard.load());
  const bound = await listener.listen({ host, port });
  return {
    address: { host, port: bound },
    reloadCertificates: () => listener.reloadCertificates(),
    async stop(graceMs) {
      standard.stop();
      handlers.endStreams();
      await listener.stop(graceMs);
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
