import type { Rate } from "headgate";
import { redactRedisUrl } from "headgate/redis";
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
  type Parse,
  path,
  rate,
  redisUrl,
  seconds,
  text,
  url,
} from "./values.ts";

/** One setting: `skew_bound` in a file, `HEADGATE_SKEW_BOUND` in the environment, `--skew-bound` as a flag. */
export interface SettingShape {
  readonly name: string;
  /** What stands behind the flag in its help: nothing if it is a switch, undefined if there is no flag. */
  readonly takes: string | undefined;
  readonly about: string;
  /** All that it may be, where that is a short list. */
  readonly values?: readonly string[];
}

export interface Field<T> extends SettingShape {
  readonly initial: T;
  readonly parse: Parse<T>;
  /** How it is shown: without what is secret. */
  readonly show: (value: T) => string;
}

function field<T>(name: string, details: Omit<Field<T>, "name" | "show"> & Partial<Field<T>>): Field<T> {
  return { name, show: (value) => String(value), ...details };
}

type Optional = string | undefined;

/** Every setting there is. Help, the environment, the file and `headgate config` are made from it. */
export const fields = {
  http: field<Address>("http", {
    takes: "<host:port>",
    about: "where REST listens",
    initial: { host: "127.0.0.1", port: 8080 },
    parse: address,
    show: addressText,
  }),
  grpc: field<Address | undefined>("grpc", {
    takes: "<host:port>",
    about: "where gRPC listens, or off",
    initial: { host: "127.0.0.1", port: 8081 },
    parse: addressOrOff,
    show: addressText,
  }),
  grpcMaxConnections: field("grpc_max_connections", {
    takes: "<number>",
    about: "gRPC connections at the same time",
    initial: 1_000,
    parse: count,
  }),
  grpcMaxStreams: field("grpc_max_streams", {
    takes: "<number>",
    about: "gRPC calls at the same time on one connection",
    initial: 500,
    parse: count,
  }),
  grpcMessageTimeoutMs: field("grpc_message_timeout", {
    takes: "<seconds>",
    about: "how long a gRPC message may take to arrive",
    initial: 10_000,
    parse: seconds,
    show: (value) => String(value / 1000),
  }),
  data: field("data", {
    takes: "<path>",
    about: "the folder of the embedded database",
    initial: "./headgate-data",
    parse: path,
  }),
  redis: field<Optional>("redis", {
    takes: "<url>",
    about: "keep counters in this Redis (URLs of a cluster separated by commas, or redis+sentinel://), not in memory",
    initial: undefined,
    parse: redisUrl,
    show: (value) => redactRedisUrl(String(value)),
  }),
  postgres: field<Optional>("postgres", {
    takes: "<url>",
    about: "rules live in this PostgreSQL, not in an SQLite file",
    initial: undefined,
    parse: url("postgres", "postgresql"),
    show: (value) => redactUrl(String(value)),
  }),
  zookeeper: field<Optional>("zookeeper", {
    takes: "<hosts>",
    about: "counters live in this ZooKeeper, not in memory",
    initial: undefined,
    parse: hosts,
  }),
  rules: field<Optional>("rules", {
    takes: "<file>",
    about: "a YAML file of rules, in the place of the database's",
    initial: undefined,
    parse: path,
  }),
  adminKey: field<Optional>("admin_key", {
    // Everybody on the machine can read the arguments of a process.
    takes: undefined,
    about: "the first admin key, in the place of one that is made and shown once",
    initial: undefined,
    parse: text,
    show: redactSecret,
  }),
  tlsCert: field<Optional>("tls_cert", {
    takes: "<file>",
    about: "the certificate of REST and gRPC, in PEM",
    initial: undefined,
    parse: path,
  }),
  tlsKey: field<Optional>("tls_key", {
    takes: "<file>",
    about: "its private key, in PEM",
    initial: undefined,
    parse: path,
  }),
  tlsClientCa: field<Optional>("tls_client_ca", {
    takes: "<file>",
    about: "clients must show a certificate of this authority",
    initial: undefined,
    parse: path,
  }),
  wrongKeysPerMinute: field("wrong_keys_per_minute", {
    takes: "<number>",
    about: "wrong API keys from one address before it is throttled",
    initial: 20,
    parse: count,
  }),
  insecure: field<boolean>("insecure", {
    takes: "",
    about: "listen without TLS where others can connect",
    initial: false,
    parse: isOn,
  }),
  nodes: field("nodes", {
    takes: "<number>",
    about: "how many nodes share the limits, for on_error: local",
    initial: 1,
    parse: count,
  }),
  storeTimeoutMs: field("store_timeout", {
    takes: "<time>",
    about: "how long a check waits for Redis or ZooKeeper before on_error answers, as in 250ms",
    // Ten times what a busy Redis takes. ZooKeeper has each change on the disks of most of its servers before it answers.
    initial: 250,
    parse: milliseconds,
    show: (value) => `${value}ms`,
  }),
  skewBoundMs: field("skew_bound", {
    takes: "<seconds>",
    about: "how far a client's clock may be off before answers say so",
    initial: 5_000,
    parse: seconds,
    show: (value) => String(value / 1000),
  }),
  configReadsLimit: field<Rate>("config_reads_limit", {
    takes: "<rate>",
    about: "how often each key may read the configuration, as in 1000/m",
    initial: "1000/m",
    parse: rate,
  }),
  configWritesLimit: field<Rate>("config_writes_limit", {
    takes: "<rate>",
    about: "how often each key may change the configuration, as in 100/m",
    initial: "100/m",
    parse: rate,
  }),
  checksLimit: field<Rate>("checks_limit", {
    takes: "<rate>",
    about: "how many checks this node answers, as in 100000/s",
    initial: "100000/s",
    parse: rate,
  }),
  auditThrottledEveryMs: field<number | "off">("audit_throttled_every", {
    takes: "<time>",
    about: "at most one audit entry per throttled key and rule in this time, as in 1h; 0 for each time, or off",
    initial: 3_600_000,
    parse: durationOrOff("0", "30d"),
    show: durationText,
  }),
  auditRetentionMs: field("audit_retention", {
    takes: "<time>",
    about: "how long entries of the audit log are kept, as in 90d",
    initial: 90 * 86_400_000,
    parse: duration("1h", "36500d"),
    show: durationText,
  }),
  logLevel: field("log_level", {
    takes: "<level>",
    about: "the least severe level that is logged",
    initial: "info",
    parse: logLevel,
    values: LOG_LEVELS,
  }),
  logFormat: field<LogFormat>("log_format", {
    takes: "<format>",
    about: "the format of the log; auto is text on a terminal and JSON otherwise",
    initial: "auto",
    parse: logFormat,
    values: LOG_FORMATS,
  }),
  logFile: field<Optional>("log_file", {
    takes: "<file>",
    about: "log to this file, not to standard error; SIGHUP opens it again",
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
