import { KEY } from "../service/rest-requests.ts";
import { envoyProtocol } from "./envoy-protocol.ts";
import type { ProgramName } from "./find-program.ts";
import { gubernatorBatches, gubernatorProtocol } from "./gubernator-protocol.ts";
import { headgateBatches, headgateProtocol } from "./headgate-protocol.ts";
import { startForEnvoy, startForEnvoyWithRedis, startForGrpc, startForResp } from "./headgate-servers.ts";
import type { Protocol } from "./line.ts";
import { startGubernator, startLimitador, startRatelimit, startThrottlecrab } from "./peer-servers.ts";
import { goModuleVersion, printedVersion, startedVersion } from "./program-version.ts";
import type { RunningServer } from "./running-server.ts";
import { throttleProtocol } from "./throttle-protocol.ts";

/** A server in another language, and Headgate in its place. */
export interface Contest {
  readonly program: ProgramName;
  /** What is compared, as a sentence. */
  readonly about: string;
  versionOf(program: string): string;
  readonly peer: {
    start(program: string): Promise<RunningServer>;
    readonly protocol: Protocol;
  };
  readonly headgate: {
    start(): Promise<RunningServer>;
    readonly protocol: Protocol;
  };
}

/** Descriptors in a request that makes many checks: their data has to fit the window of HTTP/2. */
const MANY = 50;
/** Checks in a request of gubernator's clients, which collect them. */
const BATCH = 100;

export const contests: Readonly<Record<string, Contest>> = {
  "envoyproxy/ratelimit": {
    program: { name: "ratelimit", variable: "RATELIMIT_BINARY" },
    about: "Envoy's rate limit protocol, counters in Redis.",
    versionOf: goModuleVersion,
    peer: { start: startRatelimit, protocol: envoyProtocol(MANY) },
    headgate: { start: startForEnvoyWithRedis, protocol: envoyProtocol(MANY) },
  },
  limitador: {
    program: { name: "limitador-server", variable: "LIMITADOR_BINARY" },
    about: "Envoy's rate limit protocol, counters in memory.",
    versionOf: printedVersion,
    // A limit of it looks at one descriptor.
    peer: { start: startLimitador, protocol: envoyProtocol(1) },
    headgate: { start: startForEnvoy, protocol: envoyProtocol(MANY) },
  },
  throttlecrab: {
    program: { name: "throttlecrab-server", variable: "THROTTLECRAB_BINARY" },
    about: "`THROTTLE` over RESP.",
    versionOf: printedVersion,
    peer: { start: startThrottlecrab, protocol: throttleProtocol() },
    headgate: { start: startForResp, protocol: throttleProtocol(KEY) },
  },
  gubernator: {
    program: { name: "gubernator", variable: "GUBERNATOR_BINARY" },
    about: "One check over the gRPC protocol of each.",
    versionOf: startedVersion,
    peer: { start: startGubernator, protocol: gubernatorProtocol },
    headgate: { start: startForGrpc, protocol: headgateProtocol },
  },
  "gubernator-batch": {
    program: { name: "gubernator", variable: "GUBERNATOR_BINARY" },
    about: `${BATCH} checks per request over the gRPC protocol of each.`,
    versionOf: startedVersion,
    peer: { start: startGubernator, protocol: gubernatorBatches(BATCH) },
    headgate: { start: startForGrpc, protocol: headgateBatches(BATCH) },
  },
};
