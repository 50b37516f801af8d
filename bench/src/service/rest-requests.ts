/** The admin key of the measured service. */
export const KEY = "a-key-for-the-benchmark-alone";

/** One endpoint whose limit is never reached, and one that allows a single check. */
export const CHECK = { allowed: "/api/v1/orders", denied: "/api/v1/denied" } as const;

export const RULE = {
  rule_id: "orders",
  name: "Orders",
  dimension: "user",
  endpoint_pattern: CHECK.allowed,
  limit: 1_000_000_000,
  window_seconds: 86_400,
} as const;

/** A check as curl would send it, for one of a thousand users. */
export function checkRequest(endpoint: string, user: number): string {
  const body = JSON.stringify({ identifier: `user-${user % 1_000}`, dimension: "user", endpoint, cost: 1 });
  return [
    "POST /api/v1/check HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${KEY}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}
