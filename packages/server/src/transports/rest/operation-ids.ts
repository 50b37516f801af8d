/** Operation names for generated clients, where the path does not give a good one. */
const NAMES: Readonly<Record<string, string>> = {
  "GET /healthz": "getHealth",
  "GET /readyz": "getReadiness",
  "POST /api/v1/check": "check",
  "GET /api/v1/auth": "authorizeRequest",
  "POST /api/v1/session": "signIn",
  "DELETE /api/v1/session": "signOut",
  "GET /api/v1/explain": "explain",
  "POST /api/v1/explain": "explainWithBody",
  "POST /api/v1/refund": "refund",
  "POST /api/v1/penalize": "penalize",
  "POST /api/v1/reset": "resetLimits",
  "GET /api/v1/reservations": "listReservations",
  "PATCH /api/v1/reservations/:reservation_id": "extendReservation",
  "DELETE /api/v1/reservations/:reservation_id": "releaseReservation",
  "POST /api/v1/reservations/:reservation_id/settle": "settleReservation",
  "GET /api/v1/rules": "listRules",
  "PUT /api/v1/rules": "replaceRules",
  "POST /api/v1/rule-drafts": "validateRule",
  "GET /api/v1/rule-warnings": "listRuleWarnings",
  "GET /api/v1/keys": "listKeys",
  "GET /api/v1/audit": "listAuditEntries",
  "GET /api/v1/audit/verification": "verifyAuditLog",
  "GET /api/v1/live": "followNodes",
  "GET /api/v1/top-denied": "listTopDenied",
};

const VERBS: Readonly<Record<string, string>> = { GET: "get", POST: "create", PUT: "set", DELETE: "delete" };

/** A name for each operation: from the table, else from its path, as in `getUserLimits`. */
export function operationId(method: string, url: string): string {
  const name = NAMES[`${method} ${url}`];
  if (name !== undefined) return name;
  const parts = url
    .replace(/^\/api\/v1/, "")
    .split("/")
    .filter((part) => part !== "");
  const words = parts.flatMap((part, i) => {
    if (part.startsWith(":")) return [];
    // Singular if an id follows, or if one is created.
    const isOne = parts[i + 1]?.startsWith(":") || (method === "POST" && i === parts.length - 1);
    return (isOne ? part.replace(/s$/, "") : part).split(/[-.]/);
  });
  const capitalized = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${VERBS[method] ?? method.toLowerCase()}${capitalized.join("")}`;
}
