import { type ClientOptions, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { ROLES, type Role } from "../../../src/access/api-key.ts";
import type { Principal } from "../../../src/access/key-ring.ts";
import type { TlsFiles } from "../../../src/config/settings.ts";
import type { RateLimitRule } from "../../../src/rules/rule.ts";
import { type GrpcOptions, startGrpc } from "../../../src/transports/grpc/grpc-server.ts";
import type { RunningTransport } from "../../../src/transports/shared/transport.ts";
import { type World, world } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";
import { RateLimiterClient } from "./generated/headgate/v1/rate_limiter.ts";

/** Keys by their secrets, as a key ring knows them. */
class Keys {
  readonly known = new Map<string, Principal>();

  constructor() {
    for (const role of ROLES) this.add(role, [role]);
    this.add("admin", ROLES);
  }

  add(name: string, roles: readonly Role[]): void {
    this.known.set(`Bearer ${name}-key`, { id: name, name, roles, namespace: name });
  }

  authenticate(authorization: string | undefined): Principal | undefined {
    return authorization === undefined ? undefined : this.known.get(authorization);
  }
}

export { check, quota } from "./requests.ts";

export interface Served extends World {
  readonly server: RunningTransport;
  readonly address: string;
  readonly keys: Keys;
  readonly client: RateLimiterClient;
  /** What should not happen, and did. */
  readonly mistakes: unknown[];
}

export interface ServedOptions extends Pick<GrpcOptions, "selfLimits" | "wrongKeys"> {
  /** In the place of what the service does. */
  readonly instead?: Partial<GrpcOptions["service"]>;
  readonly tls?: TlsFiles;
  readonly world?: World;
  readonly bounds?: Partial<GrpcOptions["settings"]>;
}

/** A server on a free port with these rules, and a client. */
export async function served(rules?: readonly RateLimitRule[], options: ServedOptions = {}): Promise<Served> {
  const { tls, world: given, instead, selfLimits, wrongKeys, bounds } = options;
  const made = given ?? (await world(rules));
  const keys = new Keys();
  const mistakes: unknown[] = [];
  const server = await startGrpc({
    service: {
      check: (request) => made.service.check(request),
      peek: (request) => made.service.peek(request),
      reset: (identity, actor) => made.service.reset(identity, actor),
      correct: (action, request) => made.service.correct(action, request),
      ...instead,
    },
    reservations: made.reservations,
    keyRing: keys,
    settings: {
      grpc: { host: "127.0.0.1", port: 0 },
      tls,
      grpcMaxConnections: 1_000,
      grpcMaxStreams: 500,
      grpcMessageTimeoutMs: 10_000,
      ...bounds,
    },
    telemetry: made.told,
    onError: (error) => mistakes.push(error),
    selfLimits,
    wrongKeys,
  });
  finallyDo(() => server.stop(0));
  const address = `127.0.0.1:${server.address.port}`;
  return { ...made, server, address, keys, mistakes, client: clientOf(address) };
}

export function clientOf(address: string, options: ClientOptions = {}): RateLimiterClient {
  const client = new RateLimiterClient(address, credentials.createInsecure(), options);
  finallyDo(() => client.close());
  return client;
}

export function by(key: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${key}-key`);
  return metadata;
}

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: object,
  callback: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** Calls a method of a client, and rejects with its status. */
export function call<Request, Response>(
  client: RateLimiterClient,
  method: Unary<Request, Response>,
  request: Request,
  metadata = by("admin"),
): Promise<Response> {
  return new Promise((resolve, reject) => {
    method.call(client, request, metadata, {}, (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}
