import type { Role } from "./api-key.ts";

/** The role a key needs, or open for requests without a key. */
export type Permission = Role | "open";

/** The role that each route requires. A route that is not listed cannot be registered, so none is open by mistake. */
export const PERMISSIONS = {
  "GET /": "open",
  "GET /assets/:file": "open",
  "GET /docs": "open",
  "GET /openapi.json": "open",
  "GET /healthz": "open",
  "GET /readyz": "open",
  "GET /metrics": "read",

  "POST /api/v1/session": "open",
  "GET /api/v1/session": "open",
  "DELETE /api/v1/session": "open",

  "POST /api/v1/check": "check",
  "POST /api/v1/refund": "check",
  "POST /api/v1/penalize": "check",
  "GET /api/v1/reservations": "read",
  "POST /api/v1/reservations": "check",
  "GET /api/v1/reservations/:reservation_id": "check",
  "PATCH /api/v1/reservations/:reservation_id": "check",
  "DELETE /api/v1/reservations/:reservation_id": "check",
  "POST /api/v1/reservations/:reservation_id/settle": "check",
  "GET /api/v1/auth": "check",
  "GET /api/v1/explain": "read",
  "POST /api/v1/explain": "read",
  "POST /api/v1/reset": "write",

  "GET /api/v1/rules": "read",
  "POST /api/v1/rules": "write",
  "PUT /api/v1/rules": "write",
  "GET /api/v1/rules/:rule_id": "read",
  "PUT /api/v1/rules/:rule_id": "write",
  "DELETE /api/v1/rules/:rule_id": "write",
  "GET /api/v1/rules/:rule_id/recording": "read",
  "POST /api/v1/rule-drafts": "read",
  "GET /api/v1/rule-warnings": "read",

  "GET /api/v1/users": "read",
  "POST /api/v1/users": "write",
  "GET /api/v1/users/:user_id": "read",
  "GET /api/v1/users/:user_id/limits": "read",
  "PUT /api/v1/users/:user_id/limits": "write",
  "PUT /api/v1/users/:user_id/tier": "write",
  "POST /api/v1/users/:user_id/override": "write",
  "DELETE /api/v1/users/:user_id/override/:override_id": "write",

  "GET /api/v1/keys": "read",
  "POST /api/v1/keys": "write",
  "DELETE /api/v1/keys/:key_id": "write",

  "GET /api/v1/audit": "read",
  "GET /api/v1/audit/verification": "read",
  "GET /api/v1/usage": "read",
  "GET /api/v1/usage/summary": "read",
  "GET /api/v1/top-denied": "read",
  "GET /api/v1/live": "read",
} as const satisfies Readonly<Record<string, Permission>>;

export type RouteName = keyof typeof PERMISSIONS;
