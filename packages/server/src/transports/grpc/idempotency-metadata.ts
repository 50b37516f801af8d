import type { Metadata } from "@grpc/grpc-js";
import { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "headgate/http";
import { RequestError } from "../../checks/request-error.ts";
import type { WireCheck } from "./check-codec.ts";

const NAME = "x-idempotency-key";

/** Uses the idempotency key in a call's metadata for its check, whose field may repeat it. */
export function useKeyOfMetadata(check: WireCheck, metadata: Metadata): void {
  const [key, ...others] = metadata.get(NAME);
  if (key === undefined) return;
  if (others.length > 0) throw new RequestError(NAME, "must be sent once");
  if (!isIdempotencyKey(key)) throw new RequestError(NAME, `must be ${IDEMPOTENCY_KEY_FORM}`);
  check.idempotencyKey ??= key;
  if (check.idempotencyKey !== key) {
    throw new RequestError(NAME, "differs from the field idempotency_key: send only one of them");
  }
}

/** Rejects an idempotency key for reservations, which would not have the effect that the client expects. */
export function refuseKeyInMetadata(metadata: Metadata): void {
  if (metadata.get(NAME).length === 0) return;
  throw new RequestError(
    NAME,
    "does not apply to reservations: remove it. A reservation whose response was lost expires after for_ms",
  );
}

/** Rejects an idempotency key in the metadata of a call with many checks, because it would apply to each of them. */
export function requireNoKeyInMetadata(metadata: Metadata): void {
  if (metadata.get(NAME).length === 0) return;
  throw new RequestError(NAME, "applies to a single check: use the field idempotency_key of each check");
}
