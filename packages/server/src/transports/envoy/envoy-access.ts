import { HeadgateError } from "headgate";
import { RequestError } from "../../checks/request-error.ts";
import { isLoopback } from "../../config/exposure.ts";
import type { Address, Settings } from "../../config/settings.ts";
import { addressText } from "../../config/values.ts";
import { Access, type AccessOptions } from "../grpc/grpc-access.ts";
import type { RateLimitRequest } from "./descriptor.ts";

type EnvoySettings = Pick<Settings, "tls" | "envoyAnonymous" | "envoyAnonymousRefunds">;

/** Who may use a listener for Envoy: callers with an API key and, if the listener allows it, callers without one. */
export class EnvoyAccess {
  private readonly access: Access;
  /** Whether keys may be omitted. */
  readonly isOpen: boolean;
  private readonly mayRefund: boolean;

  constructor(options: AccessOptions, flag: string, address: Address, settings: EnvoySettings) {
    this.access = new Access(options, "envoy");
    this.isOpen = needsNoKey(flag, address, settings);
    this.mayRefund = settings.envoyAnonymousRefunds;
  }

  /** Returns whether the caller has a key. Throws if it must have one, or has a wrong one. */
  require(authorization: string | undefined, address: string | undefined): boolean {
    if (authorization === undefined && this.isOpen) return false;
    this.access.requireKey(authorization, "check", address);
    return true;
  }

  /** Throws if the caller may not do this, or the node has no capacity for it. */
  requireRequest({ descriptors }: RateLimitRequest, hasKey: boolean): void {
    this.requireRoom(descriptors.length);
    if (hasKey || this.mayRefund) return;
    const refund = descriptors.findIndex(({ isRefund }) => isRefund);
    if (refund < 0) return;
    throw new RequestError(
      `descriptors[${refund}].is_negative_hits`,
      "needs an API key: send one in the metadata authorization, or start the service with --envoy-anonymous-refunds",
    );
  }

  requireRoom(checks: number): void {
    this.access.requireRoom(checks);
  }
}

/** Keys may be omitted on a Unix socket, with client certificates, and on loopback if the operator asks for it. */
function needsNoKey(flag: string, address: Address, { tls, envoyAnonymous }: EnvoySettings): boolean {
  if (address.path !== undefined || tls?.clientCa !== undefined) return true;
  if (!envoyAnonymous) return false;
  if (isLoopback(address.host)) return true;
  throw new HeadgateError(
    "HG_BAD_OPTION",
    "--envoy-anonymous",
    `other machines can reach ${addressText(address)} of ${flag}: use a loopback address, a Unix socket or --tls-client-ca, or have Envoy send an API key`,
  );
}
