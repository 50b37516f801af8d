import type { Settings } from "../config/settings.ts";
import type { StartTransport } from "./shared/transport.ts";

/** Names of the settings that are addresses to listen on, or off. */
export type TransportName = {
  [Name in keyof Settings]-?: undefined extends Settings[Name]
    ? Settings[Name] extends { readonly port: number } | undefined
      ? Name
      : never
    : never;
}[keyof Settings];

interface TransportEntry {
  /** As people write it. */
  readonly label: string;
  readonly start: StartTransport;
}

/** The transports besides REST, by the setting that turns them on. Each is loaded when it is started. */
export const transports: Readonly<Record<TransportName, TransportEntry>> = {
  grpc: {
    label: "gRPC",
    start: async (options) => (await import("./grpc/grpc-server.ts")).startGrpc(options),
  },
  resp: {
    label: "RESP",
    start: async (options) => (await import("./resp/resp-server.ts")).startResp(options),
  },
  envoy: {
    label: "Envoy",
    start: async (options) => (await import("./envoy/envoy-server.ts")).startEnvoy(options),
  },
  envoyHttp: {
    label: "Envoy HTTP",
    start: async (options) => (await import("./envoy/envoy-http.ts")).startEnvoyHttp(options),
  },
};

export const transportNames = Object.keys(transports).filter(isTransportName);

function isTransportName(name: string): name is TransportName {
  return Object.hasOwn(transports, name);
}
