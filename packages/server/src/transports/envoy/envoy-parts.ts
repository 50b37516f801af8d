import type { AccessOptions } from "../grpc/grpc-access.ts";
import type { TransportOptions } from "../shared/transport.ts";
import { Authorization } from "./authorization.ts";
import { EnvoyConfig } from "./envoy-config.ts";
import { LimitHeaders } from "./limit-headers.ts";
import { RateLimitService } from "./rate-limit-service.ts";

/** What a listener for Envoy needs. */
export type EnvoyOptions = Omit<TransportOptions, keyof AccessOptions | "reservations"> & AccessOptions;

/** What the listeners for Envoy have in common. */
export interface EnvoyParts {
  readonly rateLimits: RateLimitService;
  readonly authorization: Authorization;
  close(): void;
}

export async function openEnvoyParts({ stores, service, telemetry, settings, log }: EnvoyOptions): Promise<EnvoyParts> {
  const { envoyConfig, envoyHeaders } = settings;
  const config = envoyConfig === undefined ? undefined : await EnvoyConfig.open(envoyConfig, log);
  const none = new Map();
  return {
    rateLimits: new RateLimitService({
      stores,
      domains: () => config?.domains ?? none,
      telemetry,
      headers: new LimitHeaders(envoyHeaders),
    }),
    authorization: new Authorization(service),
    close: () => config?.close(),
  };
}
