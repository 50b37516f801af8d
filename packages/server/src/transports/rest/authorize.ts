import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from "fastify";
import { isPromise } from "headgate/http";
import type { Role } from "../../access/api-key.ts";
import type { KeyRing, Principal } from "../../access/key-ring.ts";
import { PERMISSIONS, type Permission } from "../../access/permissions.ts";
import { areEqual } from "../../access/session-token.ts";
import { authenticate, isPrincipal, type KeyCheckOptions } from "../shared/authenticate.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import { Problem } from "./problem.ts";
import { sendHeaders } from "./reply.ts";
import type { WholeParts } from "./rest-dependencies.ts";
import { sessionTokenIn } from "./session-cookie.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the guard; null where a route is open. */
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** The route exists only to return 405. */
    rejectsMethod?: boolean;
    /** The response has a secret and must not be stored. */
    answersWithSecret?: boolean;
    /** The API key may be in X-Headgate-Key, because a proxy forwards the Authorization of its client. */
    acceptsKeyHeader?: boolean;
  }
}

/** The owner of the key that a request was sent with. */
export function principalOf({ principal }: FastifyRequest): Principal {
  if (principal === null) throw new Error("an open route has no principal");
  return principal;
}

/** Whether a request was sent with the session of a person instead of an API key. */
export function isOfSession(request: FastifyRequest): boolean {
  return authorizationOf(request) === undefined;
}

/** Checks the role of the key, then the service limits, before any route reads its body. */
export function guardRoutes(app: FastifyInstance, { keyRing, wrongKeys, selfLimits }: WholeParts): void {
  const ownerOf = (request: FastifyRequest, role: Role): Principal | Problem => {
    const authorization = authorizationOf(request);
    if (authorization !== undefined) return keyOwner({ keyRing, wrongKeys }, authorization, request.ip);
    return sessionOwner(keyRing, request, role);
  };
  const guardOf = (role: Role): onRequestHookHandler => {
    return (request, reply, done) => {
      const principal = ownerOf(request, role);
      if (principal instanceof Problem) return done(principal);
      if (!principal.roles.includes(role)) return done(forbidden(role));
      request.principal = principal;
      const decision = selfLimits.admit(role, principal.id);
      // Without `after`, to save checks a closure.
      if (isPromise(decision)) decision.then((decision) => done(rejection(selfLimits, role, decision, reply)), done);
      else done(rejection(selfLimits, role, decision, reply));
    };
  };
  app.decorateRequest("principal", null);
  app.addHook("onRoute", (route) => {
    const permission = permissionOf(route);
    if (permission === "open") {
      route.schema = { ...route.schema, security: [] };
      return;
    }
    route.onRequest = [...listed(route.onRequest), guardOf(permission)];
    route.schema = { ...route.schema, security: [{ key: [permission] }] };
  });
}

function authorizationOf({ headers, routeOptions }: FastifyRequest): string | undefined {
  const { "x-headgate-key": key, authorization } = headers;
  return routeOptions.config.acceptsKeyHeader && typeof key === "string" ? `Bearer ${key}` : authorization;
}

/** The permission a route requires. A route without one cannot be registered, so none is open by mistake. */
export function permissionOf({ method, url, config }: RouteOptions): Permission {
  if (config?.rejectsMethod === true) return "open";
  const permissions: Readonly<Record<string, Permission>> = PERMISSIONS;
  const route = `${method === "HEAD" ? "GET" : method} ${url}`;
  if (!Object.hasOwn(permissions, route)) throw new Error(`${route} has no line in access/permissions.ts`);
  return permissions[route];
}

/** Fastify accepts no hook, one, or a list. */
export function listed<Hook>(hooks: Hook | Hook[] | undefined): Hook[] {
  if (hooks === undefined) return [];
  return Array.isArray(hooks) ? hooks : [hooks];
}

/** The owner of the API key in an Authorization header, or why it is not accepted. */
export function keyOwner(options: KeyCheckOptions, authorization: string, address: string): Principal | Problem {
  const owner = authenticate(options, "rest", authorization, address);
  if (isPrincipal(owner)) return owner;
  return owner.retryAfterMs > 0 ? tooManyWrongKeys(owner.retryAfterMs) : unauthenticated();
}

/**
 * The owner of the session that a cookie proves. Only reading is possible with the cookie alone: a page of another
 * origin might send it, but cannot know the CSRF token that everything else needs.
 */
function sessionOwner(keyRing: Pick<KeyRing, "session">, request: FastifyRequest, role: Role): Principal | Problem {
  const token = sessionTokenIn(request);
  const session = token === undefined ? undefined : keyRing.session(token);
  if (session === undefined) return unauthenticated();
  const isRead = role === "read" && (request.method === "GET" || request.method === "HEAD");
  const given = request.headers["x-csrf-token"];
  if (isRead || (typeof given === "string" && areEqual(given, session.csrfToken))) return session.principal;
  return new Problem("csrf_token_required");
}

export function unauthenticated(): Problem {
  return new Problem("unauthenticated", undefined, { headers: { "www-authenticate": 'Bearer realm="headgate"' } });
}

function tooManyWrongKeys(retryAfterMs: number): Problem {
  const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  return new Problem("too_many_wrong_keys", undefined, { headers });
}

export function forbidden(role: Role): Problem {
  return new Problem("forbidden", `this route requires the role ${role}`, { needs: role });
}

/** Charges the rest of a request that counts as several checks. The guard has already counted one. */
export function requireRoom(limits: SelfLimits, weight: number, reply: FastifyReply): void {
  if (weight === 1) return;
  const problem = rejection(limits, "check", limits.admitChecks(weight - 1), reply);
  if (problem !== undefined) throw problem;
}

/** The error for a request over a service limit. Others get the quota headers, except checks, which have their own. */
function rejection(
  limits: SelfLimits,
  role: Role,
  decision: Awaited<ReturnType<SelfLimits["admit"]>>,
  reply: FastifyReply,
): Problem | undefined {
  if (decision.allowed && role === "check") return undefined;
  reply.header("cache-control", "no-store");
  sendHeaders(reply, limits.headers(decision));
  if (decision.allowed) return undefined;
  return new Problem("quota_exceeded", decision.explain().toString(), { "violated-policies": [decision.rule] });
}
