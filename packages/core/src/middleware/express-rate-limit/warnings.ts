import { isIP } from "node:net";
import type { Request } from "express";
import { shown } from "../../errors.ts";
import { DRAFTS } from "./compatible-options.ts";
import type { GivenOptions, Logger } from "./compatible-types.ts";

/** The code and text of a problem, if a check found one. Checks have the names that `validate` uses. */
type Finding = readonly [code: string, problem: string] | undefined;

const OF_REQUESTS: Readonly<Record<string, (request: Request) => Finding>> = {
  ip({ ip }) {
    if (ip === undefined) {
      return ["ERR_ERL_UNDEFINED_IP_ADDRESS", "a request has no address: all such requests share one quota"];
    }
    if (isIP(ip) === 0) {
      return ["ERR_ERL_INVALID_IP_ADDRESS", `request.ip is not an address but ${ip}: set a keyGenerator`];
    }
    return undefined;
  },
  trustProxy: ({ app }) =>
    app.get("trust proxy") === true
      ? ["ERR_ERL_PERMISSIVE_TRUST_PROXY", "trust proxy is true: clients can choose their own address"]
      : undefined,
  xForwardedForHeader: ({ app, headers }) =>
    headers["x-forwarded-for"] !== undefined && app.get("trust proxy") === false
      ? [
          "ERR_ERL_UNEXPECTED_X_FORWARDED_FOR",
          "a request has the header X-Forwarded-For and trust proxy is not set: behind a proxy all clients share one quota",
        ]
      : undefined,
  forwardedHeader: ({ headers, ip, socket }) =>
    headers.forwarded !== undefined && ip === socket.remoteAddress
      ? [
          "ERR_ERL_FORWARDED_HEADER",
          "a request has the header Forwarded, which Express does not read: set a keyGenerator",
        ]
      : undefined,
};

const OF_OPTIONS: Readonly<Record<string, (options: GivenOptions) => Finding>> = {
  keyGeneratorIpFallback({ keyGenerator }) {
    const source = String(keyGenerator ?? "");
    return /\breq(?:uest)?\.ip\b/.test(source) && !source.includes("ipKeyGenerator")
      ? ["ERR_ERL_KEY_GEN_IPV6", "keyGenerator uses request.ip directly: pass it to ipKeyGenerator, for IPv6"]
      : undefined;
  },
  ipv6SubnetOrKeyGenerator: ({ ipv6Subnet, keyGenerator }) =>
    ipv6Subnet !== undefined && keyGenerator !== undefined
      ? [
          "ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR",
          "ipv6Subnet only applies to requests for which keyGenerator returns no key",
        ]
      : undefined,
  ipv6Subnet({ ipv6Subnet = false }) {
    if (ipv6Subnet === false || typeof ipv6Subnet === "function") return undefined;
    return Number.isInteger(ipv6Subnet) && ipv6Subnet >= 32 && ipv6Subnet <= 64
      ? undefined
      : ["ERR_ERL_IPV6_SUBNET", `ipv6Subnet should be a whole number from 32 to 64, got ${shown(ipv6Subnet)}`];
  },
  headersDraftVersion: ({ standardHeaders = false }) =>
    typeof standardHeaders === "boolean" || DRAFTS.includes(standardHeaders)
      ? undefined
      : [
          "ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION",
          `standardHeaders must be true or one of ${DRAFTS.join(", ")}, got ${shown(standardHeaders)}: these headers are not sent`,
        ],
  creationStack: () =>
    /Layer\.handle/.test(new Error().stack ?? "")
      ? [
          "ERR_ERL_CREATED_IN_REQUEST_HANDLER",
          "rateLimit was called while handling a request: call it once, at startup",
        ]
      : undefined,
};

/** Warns once about each likely mistake, with the codes and names of express-rate-limit. */
export class Warnings {
  private readonly logger: Logger;
  private readonly ofRequests: Map<string, (request: Request) => Finding>;

  constructor(given: GivenOptions, logger: Logger) {
    const { validate = true } = given;
    const { default: usual = true, ...named } = typeof validate === "boolean" ? { default: validate } : validate;
    const isOn = (name: string): boolean => named[name] ?? usual;
    this.logger = logger;
    this.ofRequests = new Map(Object.entries(OF_REQUESTS).filter(([name]) => isOn(name)));
    for (const [name, find] of Object.entries(OF_OPTIONS)) if (isOn(name)) this.report(find(given));
  }

  /** Checks a request whose key is its address. */
  look(request: Request): void {
    for (const [name, find] of this.ofRequests) if (this.report(find(request))) this.ofRequests.delete(name);
  }

  private report(finding: Finding): boolean {
    if (finding === undefined) return false;
    const [code, problem] = finding;
    this.logger.error(
      Object.assign(new Error(`${problem}. See docs/migrate/express-rate-limit.md#warnings`), { code }),
    );
    return true;
  }
}
