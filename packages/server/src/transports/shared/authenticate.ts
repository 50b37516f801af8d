import type { Principal } from "../../access/key-ring.ts";
import type { WrongKeys } from "../../access/wrong-keys.ts";
import type { Transport } from "../../metrics/telemetry.ts";

export interface KeyCheckOptions {
  readonly keyRing: {
    authenticate(authorization: string | undefined, mayGuess?: () => boolean): Principal | undefined;
  };
  /** Default: wrong keys are not counted. */
  readonly wrongKeys?: Pick<WrongKeys, "note" | "retryAfterMs"> | undefined;
}

/** A key that was not accepted. */
export interface WrongKey {
  /** Milliseconds until keys from this address are compared again; 0 unless there were too many wrong ones. */
  readonly retryAfterMs: number;
}

/** The owner of a key. A wrong key is counted at its address, if that is given. */
export function authenticate(
  { keyRing, wrongKeys }: KeyCheckOptions,
  transport: Transport,
  authorization: string,
  address: string | undefined,
): Principal | WrongKey {
  // Only asked for keys that are not recognized: reading the address takes longer than that.
  const wait = (): number => (address === undefined ? 0 : (wrongKeys?.retryAfterMs(address) ?? 0));
  const principal = keyRing.authenticate(authorization, () => wait() === 0);
  if (principal !== undefined) return principal;
  const retryAfterMs = wait();
  if (address !== undefined) wrongKeys?.note(address, transport);
  return { retryAfterMs };
}

export function isPrincipal(owner: Principal | WrongKey): owner is Principal {
  return "roles" in owner;
}
