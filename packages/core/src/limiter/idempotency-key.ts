/** Visible ASCII characters: headers, gRPC metadata and fields all carry them as they are. */
const FORM = /^[\x21-\x7e]{1,255}$/;

/** Describes a valid idempotency key, for error messages. */
export const IDEMPOTENCY_KEY_FORM = "1 to 255 printable ASCII characters without spaces";

/** Whether a value is a valid idempotency key. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === "string" && FORM.test(value);
}
