/** Visible ASCII characters: headers, gRPC metadata and fields all carry them as they are. */
const FORM = /^[\x21-\x7e]{1,255}$/;

/** What an idempotency key must be, for messages. */
export const IDEMPOTENCY_KEY_FORM = "1 to 255 printable ASCII characters without spaces";

/** Whether a value can be an idempotency key, by whatever way it came. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === "string" && FORM.test(value);
}
