import type { Rate } from "headgate";

/** How a node is set up: what flags, environment and file say together. */
export interface Settings {
  /** Where REST listens. */
  readonly http: Address;
  /** Where gRPC listens; undefined: nowhere. */
  readonly grpc: Address | undefined;
  /** Client connections of gRPC at the same time. */
  readonly grpcMaxConnections: number;
  /** Calls at the same time on one of them. */
  readonly grpcMaxStreams: number;
  /** How long a gRPC message may take to arrive. */
  readonly grpcMessageTimeoutMs: number;
  /** The folder of the embedded database. */
  readonly data: string;
  readonly redis: string | undefined;
  readonly postgres: string | undefined;
  readonly zookeeper: string | undefined;
  /** A YAML file of rules, instead of those in the database. */
  readonly rules: string | undefined;
  /** The first admin key, instead of a generated one. */
  readonly adminKey: string | undefined;
  readonly tls: TlsFiles | undefined;
  /** Wrong API keys a minute from one address before they are not looked at. */
  readonly wrongKeysPerMinute: number;
  /** Listen in the clear on an address that others can reach. */
  readonly insecure: boolean;
  readonly logLevel: string;
  /** `auto` is text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat;
  /** undefined: standard error. */
  readonly logFile: string | undefined;
  /** How far a client's clock may be off before the answer says so. */
  readonly skewBoundMs: number;
  /** The node's own limits: how often each API key may read and change the configuration, and all checks of the node. */
  readonly configReadsLimit: Rate;
  readonly configWritesLimit: Rate;
  readonly checksLimit: Rate;
  /** How often the audit log says of a key of a rule that it is throttled: at most once in this time. 0: each time. */
  readonly auditThrottledEveryMs: number | "off";
  /** How long entries of the audit log are kept. */
  readonly auditRetentionMs: number;
  /** How many nodes share the limits: for `on_error: local` and leases. */
  readonly nodes: number;
  /** How long a check waits for Redis or ZooKeeper before `on_error` answers. */
  readonly storeTimeoutMs: number;
}

export type LogFormat = "auto" | "json" | "text";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Clients must show a certificate of this authority. */
  readonly clientCa: string | undefined;
}
