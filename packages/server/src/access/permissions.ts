import type { Role } from "./api-key.ts";

/** The role a key needs, or open for requests without a key. */
export type Permission = Role | "open";

/** The role that each route requires. A route that is not listed cannot be registered, so none is open by mistake. */
export const PERMISSIONS = {
  "GET /": "open",
  "GET /docs": "open",
  "GET /docs/page.js": "open",
  "GET /docs/page.css": "open",
  "GET /docs/icon.svg": "open",
  "GET /openapi.json": "open",
  "GET /healthz": "open",
  "GET /readyz": "open",
  "GET /metrics": "read",

  "POST /api/v1/check": "check",
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
  "GET /api/v1/usage": "read",
  "GET /api/v1/top-denied": "read",
} as const satisfies Readonly<Record<string, Permission>>;

export type RouteName = keyof typeof PERMISSIONS;
