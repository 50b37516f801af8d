import type { NodeProcess } from "headgate-testkit/service-process";
import { envoy } from "./transports/envoy.ts";
import { grpc, grpcStream } from "./transports/grpc.ts";
import { resp } from "./transports/resp.ts";
import { rest } from "./transports/rest.ts";

/** A check to send. */
export interface SoakCheck {
  readonly identifier: string;
  readonly endpoint: string;
  readonly cost: number;
  readonly idempotencyKey?: string;
}

/** The decision that came back. */
export interface SoakDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  /** When the window ends, in milliseconds since 1970, if it is known. */
  readonly resetAtMs: number | undefined;
  /** Whether a fallback decided, if the transport says so. */
  readonly degraded: boolean | undefined;
}

/** A client of a node. A failed call rejects. */
export interface SoakClient {
  check(check: SoakCheck): Promise<SoakDecision>;
  close(): void;
}

/** A wire protocol of the service, as the soak uses it. */
export interface SoakTransport {
  readonly name: string;
  /** Further flags of `headgate serve`, if it does not listen by default. Its files can be put into a folder of its own. */
  flags?(folder: string): readonly string[];
  /** Whether a check can be repeated without being charged twice. Default true. */
  readonly hasIdempotencyKeys?: boolean;
  /** Whether it has counters of its own. Default false: it names the same rules as the others. */
  readonly countsApart?: boolean;
  connect(node: NodeProcess): SoakClient;
}

/** To put a transport under load, add it here. */
export const soakTransports: readonly SoakTransport[] = [rest, grpc, grpcStream, resp, envoy];
