import type { Rate } from "headgate";
import { redactRedisUrl } from "headgate/redis-address";
import { CONSISTENCIES, type Consistency, ON_ERRORS, type OnError } from "../rules/rule.ts";
import { HEADER_FORMS, type HeaderForms } from "../transports/envoy/header-forms.ts";
import { redactSecret, redactUrl } from "./redact.ts";
import type { Address, LogFormat } from "./settings.ts";
import {
  address,
  addressOrOff,
  addressText,
  count,
  duration,
  durationOrOff,
  durationText,
  hosts,
  isOn,
  LOG_FORMATS,
  LOG_LEVELS,
  logFormat,
  logLevel,
  milliseconds,
  oneOf,
  type Parse,
  path,
  rate,
  redisUrl,
  seconds,
  share,
  socketOrOff,
  text,
  url,
  workers,
} from "./values.ts";

/** One setting: `skew_bound` in a file, `HEADGATE_SKEW_BOUND` in the environment, `--skew-bound` as a flag. */
export interface SettingShape {
  readonly name: string;
  /** The placeholder after the flag in its help: empty for a switch, undefined if there is no flag. */
  readonly takes: string | undefined;
  readonly about: string;
  /** The allowed values, if there are only a few. */
  readonly values?: readonly string[];
  /** The default as a user would write it, if there is one. */
  readonly defaultText: string | undefined;
}

export interface Field<T> extends SettingShape {
  readonly initial: T;
  readonly parse: Parse<T>;
  /** The value as text, without secrets. */
  readonly show: (value: T) => string;
}

type Details<T> = Omit<Field<T>, "name" | "show" | "defaultText"> & Partial<Pick<Field<T>, "show">>;

function field<T>(name: string, { show = String, ...details }: Details<T>): Field<T> {
  const { initial } = details;
  return { name, show, defaultText: initial === undefined ? undefined : show(initial), ...details };
}

type Optional = string | undefined;

/** All settings. The help, the environment, the file and `headgate config` are derived from them. */
export const fields = {
  http: field<Address>("http", {
    takes: "<host:port>",
    about: "address of the REST listener",
    initial: { host: "127.0.0.1", port: 8080 },
    parse: address,
    show: addressText,
  }),
  grpc: field<Address | undefined>("grpc", {
    takes: "<host:port>",
    about: "address of the gRPC listener, or off",
    initial: { host: "127.0.0.1", port: 8081 },
    parse: addressOrOff,
    show: addressText,
  }),
  grpcMaxConnections: field("grpc_max_connections", {
    takes: "<number>",
    about: "maximum number of open gRPC connections",
    initial: 1_000,
    parse: count,
  }),
  grpcMaxStreams: field("grpc_max_streams", {
    takes: "<number>",
    about: "maximum number of concurrent gRPC calls per connection",
    initial: 500,
    parse: count,
  }),
  grpcMessageTimeoutMs: field("grpc_message_timeout", {
    takes: "<seconds>",
    about: "time limit for receiving a gRPC message",
    initial: 10_000,
    parse: seconds,
    show: (value) => String(value / 1000),
  }),
  resp: field<Address | undefined>("resp", {
    takes: "<host:port>",
    about: "address of the RESP listener (CL.THROTTLE for Redis clients), or off",
    initial: undefined,
    parse: addressOrOff,
    show: addressText,
  }),
  respMaxConnections: field("resp_max_connections", {
    takes: "<number>",
    about: "maximum number of open RESP connections",
    initial: 10_000,
    parse: count,
  }),
  respConsistency: field<Consistency>("resp_consistency", {
    takes: "<consistency>",
    about: "where limits sent over RESP are decided",
    initial: "strict",
    parse: oneOf(CONSISTENCIES),
    values: CONSISTENCIES,
  }),
  respOnError: field<OnError>("resp_on_error", {
    takes: "<policy>",
    about: "policy for limits sent over RESP while the store fails",
    initial: "local",
    parse: oneOf(ON_ERRORS),
    values: ON_ERRORS,
  }),
  envoy: field<Address | undefined>("envoy", {
    takes: "<address>",
    about: "address of the gRPC listener for Envoy (rate limit and ext_authz filters), or unix:PATH, or off",
    initial: undefined,
    parse: socketOrOff,
    show: addressText,
  }),
  envoyHttp: field<Address | undefined>("envoy_http", {
    takes: "<address>",
    about: "address of the HTTP listener with POST /json and /healthcheck for Envoy, or unix:PATH, or off",
    initial: undefined,
    parse: socketOrOff,
    show: addressText,
  }),
  envoyConfig: field<Optional>("envoy_config", {
    takes: "<folder>",
    about: "folder with configuration files of envoyproxy/ratelimit, which are reloaded when they change",
    initial: undefined,
    parse: path,
  }),
  envoyTimeoutMs: field("envoy_timeout", {
    takes: "<time>",
    about: "how long a check for Envoy waits for the store if the call has no deadline",
    // Envoy waits 20 ms by default.
    initial: 15,
    parse: milliseconds,
    show: (value) => `${value}ms`,
  }),
  envoyHeaders: field<HeaderForms>("envoy_headers", {
    takes: "<headers>",
    about: "headers of responses through Envoy: those of the IETF draft, those of envoyproxy/ratelimit, both, or off",
    initial: "ietf",
    parse: oneOf(HEADER_FORMS),
    values: HEADER_FORMS,
  }),
  envoyAnonymous: field<boolean>("envoy_anonymous", {
    takes: "",
    about: "accept calls without an API key on --envoy and --envoy-http, which must then be loopback addresses",
    initial: false,
    parse: isOn,
  }),
  envoyAnonymousRefunds: field<boolean>("envoy_anonymous_refunds", {
    takes: "",
    about: "accept negative hits, which give quota back, from callers without an API key",
    initial: false,
    parse: isOn,
  }),
  data: field("data", {
    takes: "<path>",
    about: "folder of the embedded database",
    initial: "./headgate-data",
    parse: path,
  }),
  redis: field<Optional>("redis", {
    takes: "<url>",
    about: "keep counters in Redis instead of memory (for a cluster, URLs separated by commas; or redis+sentinel://)",
    initial: undefined,
    parse: redisUrl,
    show: (value) => redactRedisUrl(String(value)),
  }),
  postgres: field<Optional>("postgres", {
    takes: "<url>",
    about: "use PostgreSQL for rules and other data, instead of an SQLite file",
    initial: undefined,
    parse: url("postgres", "postgresql"),
    show: (value) => redactUrl(String(value)),
  }),
  zookeeper: field<Optional>("zookeeper", {
    takes: "<hosts>",
    about: "keep counters in ZooKeeper instead of memory",
    initial: undefined,
    parse: hosts,
  }),
  rules: field<Optional>("rules", {
    takes: "<file>",
    about: "read rules from this YAML file instead of the database",
    initial: undefined,
    parse: path,
  }),
  adminKey: field<Optional>("admin_key", {
    // Other users of the machine can read the arguments of a process.
    takes: undefined,
    about: "the first admin key; by default, one is generated and shown once",
    initial: undefined,
    parse: text,
    show: redactSecret,
  }),
  tlsCert: field<Optional>("tls_cert", {
    takes: "<file>",
    about: "TLS certificate for all listeners, in PEM format",
    initial: undefined,
    parse: path,
  }),
  tlsKey: field<Optional>("tls_key", {
    takes: "<file>",
    about: "private key of the certificate, in PEM format",
    initial: undefined,
    parse: path,
  }),
  tlsClientCa: field<Optional>("tls_client_ca", {
    takes: "<file>",
    about: "require client certificates issued by this CA",
    initial: undefined,
    parse: path,
  }),
  wrongKeysPerMinute: field("wrong_keys_per_minute", {
    takes: "<number>",
    about: "invalid API keys per minute from one address before it is throttled",
    initial: 20,
    parse: count,
  }),
  insecure: field<boolean>("insecure", {
    takes: "",
    about: "allow listening without TLS on addresses that other machines can reach",
    initial: false,
    parse: isOn,
  }),
  nodes: field("nodes", {
    takes: "<number>",
    about: "number of nodes that share the limits, used by on_error: local",
    initial: 1,
    parse: count,
  }),
  workers: field("workers", {
    takes: "<number>",
    about: "processes that serve this node behind one port, or auto for one per CPU",
    initial: 1,
    parse: workers,
  }),
  storeTimeoutMs: field("store_timeout", {
    takes: "<time>",
    about: "how long a check waits for Redis or ZooKeeper before on_error applies",
    // Ten times the latency of a busy Redis. ZooKeeper syncs each change to the disks of a majority before it answers.
    initial: 250,
    parse: milliseconds,
    show: (value) => `${value}ms`,
  }),
  cachedRead: field<boolean>("cached_read", {
    takes: "",
    about: "with consistency: cached, ask the store before each request that is not known to be over its limit",
    initial: false,
    parse: isOn,
  }),
  leaseBase: field<number | undefined>("lease_base", {
    takes: "<units>",
    about: "with consistency: leased, units to take from the store at a time; by default, this adapts to the traffic",
    initial: undefined,
    parse: count,
  }),
  leasePrefetchAt: field("lease_prefetch_at", {
    takes: "<share>",
    about: "remaining share of a lease at which the next one is fetched",
    initial: 0.2,
    parse: share,
  }),
  leaseGiveBackEveryMs: field("lease_give_back_every", {
    takes: "<time>",
    about: "how often unused leased quota is returned to the store",
    initial: 15_000,
    parse: duration("1s", "1h"),
    show: durationText,
  }),
  skewBoundMs: field("skew_bound", {
    takes: "<seconds>",
    about: "clock skew of a client above which responses report it",
    initial: 5_000,
    parse: seconds,
    show: (value) => String(value / 1000),
  }),
  configReadsLimit: field<Rate>("config_reads_limit", {
    takes: "<rate>",
    about: "rate limit per API key for reading the configuration",
    initial: "1000/m",
    parse: rate,
  }),
  configWritesLimit: field<Rate>("config_writes_limit", {
    takes: "<rate>",
    about: "rate limit per API key for changing the configuration",
    initial: "100/m",
    parse: rate,
  }),
  checksLimit: field<Rate>("checks_limit", {
    takes: "<rate>",
    about: "rate limit for all checks of this node",
    initial: "100000/s",
    parse: rate,
  }),
  auditThrottledEveryMs: field<number | "off">("audit_throttled_every", {
    takes: "<time>",
    about: "minimum time between audit entries about the same throttled key and rule; 0 for every time, or off",
    initial: 3_600_000,
    parse: durationOrOff("0", "30d"),
    show: durationText,
  }),
  auditRetentionMs: field("audit_retention", {
    takes: "<time>",
    about: "how long audit log entries are kept",
    initial: 90 * 86_400_000,
    parse: duration("1h", "36500d"),
    show: durationText,
  }),
  logLevel: field("log_level", {
    takes: "<level>",
    about: "minimum log level",
    initial: "info",
    parse: logLevel,
    values: LOG_LEVELS,
  }),
  logFormat: field<LogFormat>("log_format", {
    takes: "<format>",
    about: "log format; auto is text on a terminal and JSON otherwise",
    initial: "auto",
    parse: logFormat,
    values: LOG_FORMATS,
  }),
  record: field<Optional>("record", {
    takes: "<folder>",
    about: "record decisions of the store to files in this folder, for headgate replay --recording",
    initial: undefined,
    parse: path,
  }),
  recordOneIn: field("record_one_in", {
    takes: "<number>",
    about: "record one in this many identities, with all of their requests",
    initial: 100,
    parse: count,
  }),
  recordMaxMb: field("record_max_mb", {
    takes: "<number>",
    about: "maximum size of all recordings in the folder in MB; the oldest are deleted when it is full",
    initial: 100,
    parse: count,
  }),
  recordSecret: field<Optional>("record_secret", {
    // Other users of the machine can read the arguments of a process.
    takes: undefined,
    about: "identifiers in recordings are hashed with it; the same on all nodes",
    initial: undefined,
    parse: text,
    show: redactSecret,
  }),
  logFile: field<Optional>("log_file", {
    takes: "<file>",
    about: "log to this file instead of standard error; SIGHUP reopens it",
    initial: undefined,
    parse: path,
  }),
} as const;

export const allSettings: readonly SettingShape[] = Object.values(fields);

export function flagOf({ name }: SettingShape): string {
  return `--${name.replaceAll("_", "-")}`;
}

export function variableOf({ name }: SettingShape): string {
  return `HEADGATE_${name.toUpperCase()}`;
}
