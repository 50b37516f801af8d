import type { Metadata } from "@grpc/grpc-js";
import type { Role } from "../../access/api-key.ts";
import type { Principal } from "../../access/key-ring.ts";
import type { WrongKeys } from "../../access/wrong-keys.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import { type Failure, forbidden, overloaded, UNAUTHENTICATED, wrongKeysFrom } from "./grpc-status.ts";

/** A call that is rejected before it is read. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface AccessOptions {
  readonly keyRing: { authenticate(authorization: string | undefined, mayGuess?: boolean): Principal | undefined };
  /** Default: wrong keys are not counted. */
  readonly wrongKeys?: Pick<WrongKeys, "note" | "retryAfterMs"> | undefined;
  readonly selfLimits?: Pick<SelfLimits, "admit" | "admitChecks"> | undefined;
}

/** Checks permissions and rate limits of calls. */
export class Access {
  private readonly options: AccessOptions;

  constructor(options: AccessOptions) {
    this.options = options;
  }

  /**
   * Returns the owner of the key, or throws if the key lacks the role. With an address, a wrong key is counted there.
   */
  require(metadata: Metadata, role: Role, address?: string): Principal {
    const [authorization] = metadata.get("authorization");
    if (typeof authorization !== "string") throw new Refused(UNAUTHENTICATED);
    const { keyRing, wrongKeys } = this.options;
    const retryAfterMs = address === undefined ? 0 : (wrongKeys?.retryAfterMs(address) ?? 0);
    const principal = keyRing.authenticate(authorization, retryAfterMs === 0);
    if (principal === undefined) {
      if (address !== undefined) wrongKeys?.note(address, "grpc");
      throw new Refused(retryAfterMs > 0 ? wrongKeysFrom(retryAfterMs) : UNAUTHENTICATED);
    }
    if (!principal.roles.includes(role)) throw new Refused(forbidden(role));
    return principal;
  }

  /** Throws if the node has no capacity for this many checks. */
  requireRoom(checks: number): void {
    const decision = this.options.selfLimits?.admitChecks(checks);
    if (decision?.allowed === false) throw new Refused(overloaded(decision.retryAfterMs));
  }

  /** Throws if the API key has made too many changes. */
  async requireTurn(role: Role, { id }: Principal): Promise<void> {
    const decision = await this.options.selfLimits?.admit(role, id);
    if (decision?.allowed !== false) return;
    throw new Refused(overloaded(decision.retryAfterMs, "the API key has made too many changes; retry later"));
  }
}
