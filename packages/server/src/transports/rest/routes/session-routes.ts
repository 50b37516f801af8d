import { z } from "zod";
import { ROLES } from "../../../access/api-key.ts";
import type { Session } from "../../../access/key-ring.ts";
import type { App } from "../app.ts";
import { forbidden, keyOwner, unauthenticated } from "../authorize.ts";
import { Problem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { openProblems } from "../schemas/problem-schemas.ts";
import { clearSessionCookie, sessionTokenIn, setSessionCookie } from "../session-cookie.ts";

/** A working day. */
const LIFETIME_MS = 12 * 3_600_000;

const sessionBody = z.strictObject({
  key: z
    .string()
    .min(1)
    .max(512)
    .describe("An API key with the role read")
    .meta({ examples: ["hg_0123456789abcdef_…"] }),
});

const session = z
  .object({
    key_id: z.string(),
    name: z.string(),
    roles: z.array(z.enum(ROLES)),
    expires_at: z.string(),
    csrf_token: z.string().describe("To be sent as X-CSRF-Token with every request that changes something"),
  })
  .meta({ id: "Session" });

const current = z
  .object({ session: session.nullable().describe("null if the request has no valid session cookie") })
  .describe("The session of the cookie");

/** Sessions of browsers: an API key is exchanged for a cookie that scripts cannot read. */
export function sessionRoutes(app: App, { keyRing, wrongKeys, now = Date.now }: RestParts): void {
  app.post(
    "/session",
    {
      schema: {
        tags: ["sessions"],
        summary: "Sign in: exchange an API key for a session cookie",
        body: sessionBody,
        response: {
          200: session.describe("Signed in"),
          ...openProblems(
            "validation_failed",
            "malformed_json",
            "body_too_large",
            "unsupported_media_type",
            "unauthenticated",
            "forbidden",
            "too_many_wrong_keys",
            "internal_error",
          ),
        },
      },
    },
    async (request, reply) => {
      const owner = keyOwner({ keyRing, wrongKeys }, `Bearer ${request.body.key}`, request.ip);
      if (owner instanceof Problem) throw owner;
      if (!owner.roles.includes("read")) throw forbidden("read");
      const started = keyRing.startSession(owner.id, LIFETIME_MS);
      if (started === undefined) throw unauthenticated();
      reply.header("cache-control", "no-store");
      setSessionCookie(request, reply, started.token, started.expiresAt - now());
      return told(started);
    },
  );

  app.get(
    "/session",
    {
      schema: {
        tags: ["sessions"],
        summary: "Get the current session",
        response: { 200: current, ...openProblems("headers_too_large", "internal_error") },
      },
    },
    async (request, reply) => {
      reply.header("cache-control", "no-store");
      const token = sessionTokenIn(request);
      const found = token === undefined ? undefined : keyRing.session(token);
      return { session: found === undefined ? null : told(found) };
    },
  );

  app.delete(
    "/session",
    {
      schema: {
        tags: ["sessions"],
        summary: "Sign out: remove the session cookie",
        response: { 204: z.undefined().describe("Signed out"), ...openProblems("headers_too_large", "internal_error") },
      },
    },
    async (request, reply) => {
      clearSessionCookie(request, reply);
      reply.code(204);
    },
  );
}

function told({ principal: { id, name, roles }, expiresAt, csrfToken }: Session): z.output<typeof session> {
  return {
    key_id: id,
    name,
    roles: [...roles],
    expires_at: new Date(expiresAt).toISOString(),
    csrf_token: csrfToken,
  };
}
