import { HeadgateError } from "../../errors.ts";

/** A parsed Redis URL: one server, a cluster, or a master behind sentinels. */
export interface RedisAddress {
  readonly kind: "server" | "cluster" | "sentinel";
  /** The server, nodes of the cluster, or the sentinels. */
  readonly hosts: readonly RedisHost[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** The name of the master as configured in the sentinels. */
  readonly master: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** Files in PEM. `ca` replaces the certificate authorities that Node trusts. Undefined without TLS. */
  readonly tls: TlsFiles | undefined;
}

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

interface TlsFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** Separator between the URLs of a list. A comma alone may also separate hosts, or be part of a password. */
const BETWEEN_URLS = /,\s*(?=rediss?(?:\+[a-z]+)?:\/\/)/i;
const URL_PARTS = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(\/[^?#]*)?(?:\?([^#]*))?$/i;
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/i;

const EXAMPLES =
  "redis://user:password@host:6379/2, redis://host:7000,redis://host:7001 or redis+cluster://host:7000,host:7001 for a cluster, or redis+sentinel://host:26379,host:26379/mymaster; with TLS, rediss";

/**
 * Parses a Redis URL, or several URLs of a cluster separated by commas. Throws a HeadgateError that names `field` and
 * does not contain the URL, which may include a password.
 */
export function parseRedisAddress(text: string, field = "server"): RedisAddress {
  const reject = (problem: string): never => {
    throw new HeadgateError("HG_BAD_OPTION", field, problem);
  };
  const [first, ...others] = text.split(BETWEEN_URLS).map((url) => parseUrl(url.trim(), reject));
  for (const other of others) requireSameServer(first, other, reject);
  const hosts = [first, ...others].flatMap((each) => each.hosts);
  const kind = first.kind === "server" && hosts.length > 1 ? "cluster" : first.kind;
  if (kind === "cluster" && first.database > 0) {
    reject("must not name a database: a Redis Cluster has only database 0");
  }
  return { ...first, kind, hosts };
}

/** The URL with its passwords replaced, for logs. */
export function redactRedisUrl(text: string, hidden = "***"): string {
  return text
    .split(BETWEEN_URLS)
    .map((url) =>
      url
        .replace(/^([^/?#]*:\/\/[^/?#:@]*):[^/?#]*@/, `$1:${hidden}@`)
        .replace(/([?&][^=&#]*(?:password|pass|auth|token)=)[^&#]*/gi, `$1${hidden}`),
    )
    .join(",");
}

type Reject = (problem: string) => never;

function parseUrl(url: string, reject: Reject): RedisAddress {
  const parts = URL_PARTS.exec(url);
  if (parts === null) return reject(`must be a URL as in ${EXAMPLES}`);
  const [, scheme, suffix, user = "", hosts, path = "", query = ""] = parts;
  const kind = kindOf(suffix);
  const parameters = parametersOf(query, kind, scheme.toLowerCase() === "rediss", reject);
  const colon = user.indexOf(":");
  return {
    kind,
    hosts: hosts.split(",").map((host) => parseHost(host.trim(), kind, reject)),
    username: decoded(colon < 0 ? user : user.slice(0, colon), reject),
    password: decoded(colon < 0 ? "" : user.slice(colon + 1), reject),
    ...placeOf(path, kind, reject),
    ...parameters,
  };
}

function kindOf(suffix: string | undefined): RedisAddress["kind"] {
  const name = suffix?.toLowerCase();
  return name === "cluster" || name === "sentinel" ? name : "server";
}

function parseHost(text: string, kind: RedisAddress["kind"], reject: Reject): RedisHost {
  const parts = HOST.exec(text);
  const port = Number(parts?.[3] ?? (kind === "sentinel" ? SENTINEL_PORT : REDIS_PORT));
  if (parts === null || port < 1 || port > 65_535) {
    return reject(`must be a URL with a host and a port from 1 to 65535, as in ${EXAMPLES}`);
  }
  return { host: parts[1] ?? parts[2], port };
}

/** The path after the hosts: `/database`, or with sentinels `/master/database`. */
function placeOf(path: string, kind: RedisAddress["kind"], reject: Reject): Pick<RedisAddress, "master" | "database"> {
  const segments = path.split("/").filter((segment) => segment !== "");
  const master = kind === "sentinel" ? decoded(segments.shift() ?? "", reject) : undefined;
  if (kind === "sentinel" && master === undefined) {
    reject("must name the master that the sentinels watch, as in redis+sentinel://host:26379/mymaster");
  }
  const [database = "0", ...more] = segments;
  if (!/^\d{1,9}$/.test(database) || more.length > 0) {
    reject(`must end with the number of a database or nothing, as in ${EXAMPLES}`);
  }
  return { master, database: Number(database) };
}

const TLS_PARAMETERS = ["tls_ca", "tls_cert", "tls_key"];
const SENTINEL_PARAMETERS = ["sentinel_username", "sentinel_password"];

function parametersOf(
  query: string,
  kind: RedisAddress["kind"],
  isTls: boolean,
  reject: Reject,
): Pick<RedisAddress, "tls" | "sentinelUsername" | "sentinelPassword"> {
  const parameters = new URLSearchParams(query);
  const known = [...(isTls ? TLS_PARAMETERS : []), ...(kind === "sentinel" ? SENTINEL_PARAMETERS : [])];
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue;
    const all = "tls_ca, tls_cert and tls_key with TLS, sentinel_username and sentinel_password with sentinels";
    // Only a name is quoted that cannot be part of a password.
    reject(`has an unknown parameter${/^\w{1,40}$/.test(name) ? ` ${name}` : ""} (known: ${all})`);
  }
  const value = (name: string): string | undefined => parameters.get(name) || undefined;
  return {
    tls: isTls ? { ca: value("tls_ca"), cert: value("tls_cert"), key: value("tls_key") } : undefined,
    sentinelUsername: value("sentinel_username"),
    sentinelPassword: value("sentinel_password"),
  };
}

/** One client serves all nodes, so its settings must be the same for each; a URL may leave them out. */
function requireSameServer(first: RedisAddress, other: RedisAddress, reject: Reject): void {
  const isSame = (a: string | undefined, b: string | undefined): boolean => b === undefined || a === b;
  if (first.kind !== other.kind || (first.tls === undefined) !== (other.tls === undefined)) {
    reject("must have the same scheme in all URLs of a list");
  }
  if (first.kind === "sentinel")
    reject("must list sentinels in one URL, as in redis+sentinel://a:26379,b:26379/mymaster");
  if (!isSame(first.username, other.username) || !isSame(first.password, other.password)) {
    reject("must have the same user and password in all URLs of a list");
  }
  if (first.database !== other.database) reject("must name the same database in all URLs of a list");
}

function decoded(text: string, reject: Reject): string | undefined {
  if (text === "") return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return reject("has a % that is not an escape: write special characters of names and passwords as in %40 for @");
  }
}
