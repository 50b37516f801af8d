import type { Rate } from "headgate";

/** The settings of a node, combined from flags, environment and file. */
export interface Settings {
  /** Address of the REST API. */
  readonly http: Address;
  /** Address of the gRPC API; undefined if it is off. */
  readonly grpc: Address | undefined;
  /** Maximum number of gRPC connections. */
  readonly grpcMaxConnections: number;
  /** Maximum number of concurrent calls per gRPC connection. */
  readonly grpcMaxStreams: number;
  /** How long a gRPC message may take to arrive. */
  readonly grpcMessageTimeoutMs: number;
  /** Folder of the embedded database. */
  readonly data: string;
  readonly redis: string | undefined;
  readonly postgres: string | undefined;
  readonly zookeeper: string | undefined;
  /** A YAML file of rules, instead of those in the database. */
  readonly rules: string | undefined;
  /** The first admin key, instead of a generated one. */
  readonly adminKey: string | undefined;
  readonly tls: TlsFiles | undefined;
  /** Wrong API keys per minute from one address before further ones are rejected without a comparison. */
  readonly wrongKeysPerMinute: number;
  /** Allow plain text on addresses that other machines can reach. */
  readonly insecure: boolean;
  readonly logLevel: string;
  /** `auto` is text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat;
  /** undefined: standard error. */
  readonly logFile: string | undefined;
  /** Maximum deviation of a client's clock before the response reports it. */
  readonly skewBoundMs: number;
  /** The service limits: configuration reads and writes per API key, and all checks of the node. */
  readonly configReadsLimit: Rate;
  readonly configWritesLimit: Rate;
  readonly checksLimit: Rate;
  /** Minimum interval between audit entries for the same throttled key of a rule. 0: no minimum. */
  readonly auditThrottledEveryMs: number | "off";
  /** How long audit entries are kept. */
  readonly auditRetentionMs: number;
  /** Number of nodes that share the limits, for `on_error: local` and leases. */
  readonly nodes: number;
  /** Number of processes that serve this node. */
  readonly workers: number;
  /** How long a check waits for Redis or ZooKeeper before `on_error` applies. */
  readonly storeTimeoutMs: number;
  /** Whether `consistency: cached` asks the store before each request that is not known to be over its limit. */
  readonly cachedRead: boolean;
  /** Units that a lease takes at a time; undefined: it adapts to the traffic. */
  readonly leaseBase: number | undefined;
  /** Remaining share of a lease at which the next one is fetched. */
  readonly leasePrefetchAt: number;
  /** How often unused leased quota is returned. */
  readonly leaseGiveBackEveryMs: number;
}

export type LogFormat = "auto" | "json" | "text";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Clients must present a certificate of this authority. */
  readonly clientCa: string | undefined;
}
