import { type Clock, requireClock } from "../../clock/clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { must, type Requirements, readOptions, wholeMilliseconds } from "../../options.ts";

/** Options of `ZooKeeperStore`. */
export interface ZooKeeperStoreOptions {
  /** Znode below which everything is stored. Created if missing. Default `/headgate`. */
  readonly root?: string | undefined;
  /** Maximum duration of a request in milliseconds. `resilient` has a shorter deadline. Default 1000. */
  readonly timeoutMs?: number | undefined;
  /** Session timeout in milliseconds. Default 10,000. */
  readonly sessionTimeoutMs?: number | undefined;
  /**
   * How often to look for expired znodes, in milliseconds. If several processes share the store, one of them does it. 0
   * turns it off. Default 60,000.
   */
  readonly purgeEveryMs?: number | undefined;
  /** `user:password` of ZooKeeper's digest scheme. Znodes are then accessible to this user only. */
  readonly auth?: string | undefined;
  /** For tests: use this clock instead of the ensemble's. */
  readonly clock?: Clock | undefined;
}

/** The validated options. */
export interface Settings {
  readonly servers: readonly string[];
  readonly root: string;
  readonly timeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly purgeEveryMs: number;
  readonly auth: string | undefined;
  readonly clock: Clock | undefined;
}

const REQUIREMENTS: Requirements<ZooKeeperStoreOptions> = {
  root: must(
    'the path of a znode like "/headgate" or "/apps/shop"',
    (root) => typeof root === "string" && /^(\/[\w-][\w.:-]*)+$/.test(root),
  ),
  timeoutMs: wholeMilliseconds(1),
  sessionTimeoutMs: wholeMilliseconds(100),
  purgeEveryMs: wholeMilliseconds(0),
  auth: requireAuth,
  clock: requireClock,
};

const DEFAULT_PORT = 2181;

export function readZooKeeperOptions(servers: unknown, options: ZooKeeperStoreOptions): Settings {
  const { root = "/headgate", timeoutMs = 1_000, sessionTimeoutMs = 10_000 } = readOptions(options, REQUIREMENTS);
  const { purgeEveryMs = 60_000, auth, clock } = options;
  return { servers: serversIn(servers), root, timeoutMs, sessionTimeoutMs, purgeEveryMs, auth, clock };
}

/** The value is not shown, because it contains a password. */
function requireAuth(auth: unknown, field: string): void {
  if (typeof auth === "string" && /^[^:]+:/.test(auth)) return;
  throw new HeadgateError("HG_BAD_OPTION", field, "must be a user and a password separated by a colon");
}

/** Parses `zk1:2181,zk2:2181` or an array of addresses. */
function serversIn(servers: unknown): string[] {
  const list = typeof servers === "string" ? servers.split(",") : Array.isArray(servers) ? servers : [];
  const addresses = list.map((address: unknown) => (typeof address === "string" ? address.trim() : ""));
  if (addresses.length === 0 || !addresses.every(isAddress)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "servers",
      `must be addresses like "10.0.0.1:2181,10.0.0.2:2181", or a list of them, got ${shown(servers)}`,
    );
  }
  return addresses.map((address) => (address.includes(":") ? address : `${address}:${DEFAULT_PORT}`));
}

function isAddress(address: string): boolean {
  const [, port = DEFAULT_PORT] = /^[\w.-]+(?::(\d{1,5}))?$/.exec(address) ?? [undefined, 0];
  return Number(port) >= 1 && Number(port) <= 65_535;
}
