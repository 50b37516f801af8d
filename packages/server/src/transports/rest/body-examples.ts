const RULE = {
  rule_id: "orders",
  name: "Orders",
  dimension: "user",
  endpoint_pattern: "/api/v1/orders",
  limit: 5,
  window_seconds: 60,
};
const USER = { identifier: "12345", dimension: "user" };
const QUESTION = { ...USER, endpoint: "/api/v1/orders", cost: 1 };

/** The examples belong together: sent in order, they create a rule, run into its limit, and override it. */
export const BODY_EXAMPLES: Readonly<Record<string, object>> = {
  "POST /api/v1/check": QUESTION,
  "POST /api/v1/refund": QUESTION,
  "POST /api/v1/penalize": QUESTION,
  "POST /api/v1/reservations": { checks: [QUESTION], for_ms: 60_000 },
  "PATCH /api/v1/reservations/:reservation_id": { for_ms: 60_000 },
  "POST /api/v1/reservations/:reservation_id/settle": { costs: { orders: 1 } },
  "POST /api/v1/explain": QUESTION,
  "POST /api/v1/reset": USER,
  "POST /api/v1/rules": RULE,
  "POST /api/v1/rule-drafts": RULE,
  "PUT /api/v1/rules": { rules: [RULE] },
  "PUT /api/v1/rules/:rule_id": { ...RULE, limit: 10 },
  "POST /api/v1/users": { users: [{ user_id: "12345", tier: null }] },
  "PUT /api/v1/users/:user_id/limits": { custom_limits: { orders: { limit: 20 } } },
  "PUT /api/v1/users/:user_id/tier": { tier: "premium" },
  "POST /api/v1/users/:user_id/override": { rule_id: "orders", limit: 50, reason: "a sale", duration_seconds: 3_600 },
  "POST /api/v1/keys": { name: "dashboard", roles: ["read"], duration_seconds: 86_400 },
};
