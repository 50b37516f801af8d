import {
  type handleUnaryCall,
  type Metadata,
  type MethodDefinition,
  Server,
  type ServerInterceptor,
  type ServerUnaryCall,
  status,
} from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import { Rejected } from "../grpc/grpc-access.ts";
import { type Failure, failureOf, INTERNAL, serviceError } from "../grpc/grpc-status.ts";
import { guardCalls } from "../grpc/guarded-call.ts";
import { decode, MessageWriter } from "../grpc/message-codec.ts";
import { Connections } from "../shared/connections.ts";
import { GrpcListener } from "../shared/grpc-listener.ts";
import type { RunningTransport } from "../shared/transport.ts";
import { EnvoyAccess } from "./envoy-access.ts";
import { type EnvoyOptions, type EnvoyParts, openEnvoyParts } from "./envoy-parts.ts";
import { readAuthorizationRequest, writeAuthorizationAnswer } from "./ext-authz-codec.ts";
import { readRateLimitRequest, writeRateLimitAnswer } from "./rate-limit-codec.ts";

const RATE_LIMIT = "envoy.service.ratelimit.v3.RateLimitService";
const AUTHORIZATION = "envoy.service.auth.v3.Authorization";
/** The names that health checks can ask for: those of the services, and the one that envoyproxy/ratelimit has. */
const HEALTH_NAMES = ["", RATE_LIMIT, AUTHORIZATION, "ratelimit"];

/** Maximum message size in bytes. Filters send a few descriptors, or the headers of a request. */
const LARGEST_MESSAGE = 1 << 18;
/** Of the time that a caller waits, this part is left for the way back. */
const WAY_BACK = 0.25;

const SHOULD_RATE_LIMIT = { service: RATE_LIMIT, method: "ShouldRateLimit" } as const;
const CHECK = { service: AUTHORIZATION, method: "Check" } as const;
const METHODS = [SHOULD_RATE_LIMIT, CHECK];

type Call = ServerUnaryCall<Buffer, Buffer>;

/** Serves Envoy's rate limit and external authorization services, and health checks; nothing else. */
export async function startEnvoy(options: EnvoyOptions): Promise<RunningTransport> {
  const { settings } = options;
  const address = settings.envoy ?? { host: "127.0.0.1", port: 0 };
  const access = new EnvoyAccess(options, "--envoy", address, settings);
  const parts = await openEnvoyParts(options);
  const connections = new Connections(settings.grpcMaxConnections);
  const server = new Server({
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.max_concurrent_streams": settings.grpcMaxStreams,
    // Callers that need no key are trusted, so the cost of the guard is saved.
    interceptors: access.isOpen ? [] : [guardOf(options, access, connections)],
    // Statistics of grpc-js that nothing serves.
    "grpc.enable_channelz": 0,
  });
  new EnvoyHandlers(options, access, parts).addTo(server);
  const health = new HealthImplementation(Object.fromEntries(HEALTH_NAMES.map((name) => [name, "SERVING" as const])));
  health.addToServer(server);
  const listener = new GrpcListener(server, settings, connections);
  try {
    const bound = await listener.listen(address);
    return {
      address: { ...address, port: bound },
      reloadCertificates: () => listener.reloadCertificates(),
      async stop(graceMs) {
        for (const name of HEALTH_NAMES) health.setStatus(name, "NOT_SERVING");
        await listener.stop(graceMs);
        parts.close();
      },
    };
  } catch (error) {
    parts.close();
    throw error;
  }
}

/** Rejects callers without a key before their message is read. */
function guardOf(
  { settings, telemetry }: EnvoyOptions,
  access: EnvoyAccess,
  connections: Connections,
): ServerInterceptor {
  return guardCalls({
    transport: "envoy",
    methodOf: (path) => METHODS.find(({ service, method }) => path === `/${service}/${method}`)?.method,
    requireCall: (_, metadata, address) => access.require(authorizationIn(metadata), address),
    connections,
    telemetry,
    messageTimeoutMs: settings.grpcMessageTimeoutMs,
  });
}

class EnvoyHandlers {
  private readonly options: EnvoyOptions;
  private readonly access: EnvoyAccess;
  private readonly parts: EnvoyParts;
  private readonly writer = new MessageWriter();

  constructor(options: EnvoyOptions, access: EnvoyAccess, parts: EnvoyParts) {
    this.options = options;
    this.access = access;
    this.parts = parts;
  }

  addTo(server: Server): void {
    server.addService(
      { shouldRateLimit: inBytes(SHOULD_RATE_LIMIT) },
      { shouldRateLimit: this.unary(SHOULD_RATE_LIMIT.method, (call) => this.shouldRateLimit(call)) },
    );
    server.addService({ check: inBytes(CHECK) }, { check: this.unary(CHECK.method, (call) => this.check(call)) });
  }

  private async shouldRateLimit(call: Call): Promise<Buffer> {
    const hasKey = this.admit(call);
    const request = decode(readRateLimitRequest, call.request);
    this.access.requireRequest(request, hasKey);
    const answer = await this.parts.rateLimits.decide(request, this.timeFor(call));
    return this.writer.encode(() => writeRateLimitAnswer(answer, this.writer));
  }

  private async check(call: Call): Promise<Buffer> {
    this.admit(call);
    const request = decode(readAuthorizationRequest, call.request);
    this.access.requireRoom(1);
    const answer = await this.parts.authorization.decide(request, this.timeFor(call));
    return this.writer.encode(() => writeAuthorizationAnswer(answer, this.writer));
  }

  private admit(call: Call): boolean {
    return this.access.require(authorizationIn(call.metadata), hostOf(call.getPeer()));
  }

  /** How long the store may take: what is left until the caller's deadline, less a quarter. */
  private timeFor(call: Call): number {
    const deadline = Number(call.getDeadline());
    if (!Number.isFinite(deadline)) return this.options.settings.envoyTimeoutMs;
    return Math.max(1, (deadline - Date.now()) * (1 - WAY_BACK));
  }

  private unary(name: string, answer: (call: Call) => Promise<Buffer>): handleUnaryCall<Buffer, Buffer> {
    return (call, callback) => {
      const started = performance.now();
      const called = (code: status): void =>
        this.options.telemetry.called("envoy", name, status[code], (performance.now() - started) / 1000);
      answer(call).then(
        (message) => {
          callback(null, message);
          called(status.OK);
        },
        (error: unknown) => {
          const failure = this.failureOf(error);
          callback(serviceError(failure));
          called(failure.code);
        },
      );
    };
  }

  private failureOf(error: unknown): Failure {
    if (error instanceof Rejected) return error.failure;
    const failure = failureOf(error);
    if (failure !== undefined) return failure;
    this.options.onError(error);
    return INTERNAL;
  }
}

function inBytes({ service, method }: (typeof METHODS)[number]): MethodDefinition<Buffer, Buffer> {
  const same = (message: Buffer): Buffer => message;
  return {
    path: `/${service}/${method}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

function authorizationIn(metadata: Metadata): string | undefined {
  const [authorization] = metadata.get("authorization");
  return authorization?.toString();
}

/** The address of a peer, without its port. */
function hostOf(peer: string): string {
  return peer.slice(0, Math.max(0, peer.lastIndexOf(":")));
}
