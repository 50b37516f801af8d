import type { Metadata } from "@grpc/grpc-js";
import type { Role } from "../access/api-key.ts";
import type { Principal } from "../access/key-ring.ts";
import type { SelfLimits } from "../rest/self-limits.ts";
import { type Failure, forbidden, overloaded, UNAUTHENTICATED } from "./failure.ts";

/** A call that is refused before it is read. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface AccessOptions {
  readonly keyRing: { authenticate(authorization: string | undefined): Principal | undefined };
  readonly selfLimits?: Pick<SelfLimits, "admit" | "admitChecks"> | undefined;
}

/** Who may call what, and how often. */
export class Access {
  private readonly options: AccessOptions;

  constructor(options: AccessOptions) {
    this.options = options;
  }

  /** Whose call it is; throws if he may not. */
  require(metadata: Metadata, role: Role): Principal {
    const [authorization] = metadata.get("authorization");
    const principal = typeof authorization === "string" ? this.options.keyRing.authenticate(authorization) : undefined;
    if (principal === undefined) throw new Refused(UNAUTHENTICATED);
    if (!principal.roles.includes(role)) throw new Refused(forbidden(role));
    return principal;
  }

  /** Throws if the node has no room for so many checks. */
  requireRoom(checks: number): void {
    const decision = this.options.selfLimits?.admitChecks(checks);
    if (decision?.allowed === false) throw new Refused(overloaded(decision.retryAfterMs));
  }

  /** Fails if somebody changes too much. */
  async requireTurn(role: Role, { id }: Principal): Promise<void> {
    const decision = await this.options.selfLimits?.admit(role, id);
    if (decision?.allowed === false) throw new Refused(overloaded(decision.retryAfterMs));
  }
}
