import type { Metadata } from "@grpc/grpc-js";
import type { Role } from "../../access/api-key.ts";
import type { Principal } from "../../access/key-ring.ts";
import type { Transport } from "../../metrics/telemetry.ts";
import { authenticate, isPrincipal, type KeyCheckOptions } from "../shared/authenticate.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import { type Failure, forbidden, overloaded, UNAUTHENTICATED, wrongKeysFrom } from "./grpc-status.ts";

/** A call that is rejected before it is read. */
export class Rejected extends Error {
  override readonly name = "Rejected";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface AccessOptions extends KeyCheckOptions {
  readonly selfLimits?: Pick<SelfLimits, "admit" | "admitChecks"> | undefined;
}

/** Checks permissions and rate limits of calls. */
export class Access {
  private readonly options: AccessOptions;

  private readonly transport: Transport;

  constructor(options: AccessOptions, transport: Transport = "grpc") {
    this.options = options;
    this.transport = transport;
  }

  /**
   * Returns the owner of the key, or throws if the key lacks the role. With an address, a wrong key is counted there.
   */
  require(metadata: Metadata, role: Role, address?: string): Principal {
    const [authorization] = metadata.get("authorization");
    return this.requireKey(typeof authorization === "string" ? authorization : undefined, role, address);
  }

  /** The same for the value of the header `Authorization`. */
  requireKey(authorization: string | undefined, role: Role, address?: string): Principal {
    if (authorization === undefined) throw new Rejected(UNAUTHENTICATED);
    const owner = authenticate(this.options, this.transport, authorization, address);
    if (!isPrincipal(owner)) {
      throw new Rejected(owner.retryAfterMs > 0 ? wrongKeysFrom(owner.retryAfterMs) : UNAUTHENTICATED);
    }
    if (!owner.roles.includes(role)) throw new Rejected(forbidden(role));
    return owner;
  }

  /** Throws if the node has no capacity for this many checks. */
  requireRoom(checks: number): void {
    const decision = this.options.selfLimits?.admitChecks(checks);
    if (decision?.allowed === false) throw new Rejected(overloaded(decision.retryAfterMs));
  }

  /** Throws if the API key has made too many changes. */
  async requireTurn(role: Role, { id }: Principal): Promise<void> {
    const decision = await this.options.selfLimits?.admit(role, id);
    if (decision?.allowed !== false) return;
    throw new Rejected(overloaded(decision.retryAfterMs, "the API key has made too many changes; retry later"));
  }
}
