import type { Metadata } from "@grpc/grpc-js";
import { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "headgate/http";
import { RequestError } from "../../checks/request-error.ts";

const NAME = "x-idempotency-key";

/** Something that an idempotency key is for. */
interface Keyed {
  idempotencyKey: string | undefined;
}

/** Uses the idempotency key in a call's metadata for its check or reservation, whose field may repeat it. */
export function useKeyOfMetadata(asked: Keyed, metadata: Metadata): void {
  const [key, ...others] = metadata.get(NAME);
  if (key === undefined) return;
  if (others.length > 0) throw new RequestError(NAME, "must be sent once");
  if (!isIdempotencyKey(key)) throw new RequestError(NAME, `must be ${IDEMPOTENCY_KEY_FORM}`);
  asked.idempotencyKey ??= key;
  if (asked.idempotencyKey !== key) {
    throw new RequestError(NAME, "differs from the field idempotency_key: send only one of them");
  }
}

/** Rejects an idempotency key for calls that can be repeated without one. */
export function rejectKeyInMetadata(metadata: Metadata): void {
  if (metadata.get(NAME).length === 0) return;
  throw new RequestError(NAME, "applies to Reserve: remove it, since this call can be repeated without it");
}

/** Rejects an idempotency key in the metadata of a call with many checks, because it would apply to each of them. */
export function requireNoKeyInMetadata(metadata: Metadata): void {
  if (metadata.get(NAME).length === 0) return;
  throw new RequestError(NAME, "applies to a single request: use the field idempotency_key of each one");
}
