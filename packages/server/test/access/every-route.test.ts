import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROLES, type Role } from "../../src/access/api-key.ts";
import { PERMISSIONS } from "../../src/access/permissions.ts";
import { makeKey } from "../../src/access/secret.ts";
import { eventually, type Service, startService } from "../transports/rest/service.ts";

let service: Service;
/** By what they may do, or why nothing. */
const holders = new Map<string, string | null>();

beforeAll(async () => {
  service = await startService();
  for (const role of ROLES) holders.set(role, service.keys[role]);
  holders.set("all roles", service.keys.all);
  holders.set("none", null);
  holders.set("unknown", makeKey("unknown", ROLES).secret);
  holders.set("expired", await stored(new Date(service.clock.now() / 1000 + 1_000), false));
  holders.set("revoked", await stored(null, true));
  await service.clock.advance(2_000);
  await eventually(async () => expect((await ask("GET /api/v1/rules", "revoked")).status).toBe(401));
});
afterAll(() => service.stop());

async function stored(expires: Date | null, revoked: boolean): Promise<string> {
  const { record, secret } = makeKey("gone", ROLES, { expires });
  await service.database.keys.add(record, { id: "system", name: "test" });
  if (revoked) await service.database.keys.revoke(record.key_id, { id: "system", name: "test" });
  return secret;
}

function ask(route: string, holder: string) {
  const [method, path] = route.split(" ");
  const body = method === "POST" || method === "PUT" ? {} : undefined;
  // A stream would not end.
  const query = path === "/api/v1/live" ? "?once=true" : "";
  return service.ask(method, path.replace(":file", "icon.svg").replaceAll(/:\w+/g, "nothing") + query, {
    body,
    key: holders.get(holder) ?? null,
  });
}

const NOBODY = ["none", "unknown", "expired", "revoked"];

/** Whether a holder is admitted, and otherwise how the request is rejected. */
function expected(permission: Role | "open", holder: string): "in" | 401 | 403 {
  if (permission === "open") return "in";
  if (NOBODY.includes(holder)) return 401;
  return holder === permission || holder === "all roles" ? "in" : 403;
}

describe.each(Object.entries(PERMISSIONS))("%s", (route, permission) => {
  it.each([...ROLES, "all roles", ...NOBODY])(`needs ${permission}: asked with ${"%s"}`, async (holder) => {
    const { status, body, headers } = await ask(route, holder);
    const wanted = expected(permission, holder);
    if (wanted === "in") {
      expect([401, 403, 405, 500]).not.toContain(status);
      expect(body?.code).not.toBe("route_not_found");
    } else {
      expect(status).toBe(wanted);
      expect(body).toMatchObject({ status, code: wanted === 401 ? "unauthenticated" : "forbidden" });
      expect(headers.get("www-authenticate")).toBe(wanted === 401 ? 'Bearer realm="headgate"' : null);
    }
  });
});

it("requires a key for HEAD wherever GET does", async () => {
  for (const [route, permission] of Object.entries(PERMISSIONS)) {
    if (!route.startsWith("GET")) continue;
    const { status } = await ask(route.replace("GET", "HEAD"), "none");
    if (permission === "open") expect(status).toBeLessThan(400);
    else expect(status).toBe(401);
  }
});

it("accepts no key in a URL", async () => {
  const { status } = await service.ask("GET", `/api/v1/rules?key=${service.keys.all}`, { key: null });
  expect(status).toBe(401);
});
