import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { CheckRequest, CheckResult } from "../../../checks/check.ts";
import { weightOf } from "../../../checks/check-weight.ts";
import { DIMENSIONS, dimensionOf } from "../../../rules/rule.ts";
import type { App } from "../app.ts";
import { requireRoom } from "../authorize.ts";
import { denialCode, deniedBy } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { fieldProblem, PROBLEMS, Problem } from "../problem.ts";
import { sendHeaders } from "../reply.ts";
import { requireToldOnce } from "../request-headers.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { costText, singleCheck } from "../schemas/check-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";

const authHeaders = z.looseObject({
  "x-headgate-identifier": singleCheck.shape.identifier
    .optional()
    .describe("Required, unless the proxy describes the request in X-Forwarded-* headers"),
  "x-headgate-dimension": singleCheck.shape.dimension,
  "x-headgate-endpoint": singleCheck.shape.endpoint.optional(),
  "x-original-uri": singleCheck.shape.endpoint.optional().describe("Used if there is no X-Headgate-Endpoint"),
  "x-headgate-method": singleCheck.shape.method,
  "x-original-method": singleCheck.shape.method.describe("Used if there is no X-Headgate-Method"),
  "x-headgate-cost": costText.default(1),
  "x-headgate-key": z.string().optional().describe("The API key, for proxies that forward the client's Authorization"),
  "x-forwarded-for": z.string().optional().describe("Addresses, as ForwardAuth of Traefik and Caddy send them"),
  "x-forwarded-uri": singleCheck.shape.endpoint.optional().describe("The path of the request, from the same proxies"),
  "x-forwarded-method": singleCheck.shape.method.describe("Used if there is no X-Headgate-Method"),
});

/** Proxies use different headers for the method. A client may send one that its proxy does not set. */
const METHOD_HEADERS = ["x-headgate-method", "x-original-method", "x-forwarded-method"] as const;

/** Headers that the proxy sets and clients must not. */
const TOLD = [
  "X-Headgate-Identifier",
  "X-Headgate-Dimension",
  "X-Headgate-Endpoint",
  "X-Original-URI",
  "X-Headgate-Method",
  "X-Original-Method",
  "X-Headgate-Cost",
  "X-Headgate-Key",
  "X-Forwarded-Uri",
  "X-Forwarded-Method",
] as const;

/** More proxies than stand in front of a service. */
const MOST_HOPS = 16;

const authQuery = z.strictObject({
  denied: z
    .enum(["429", "403"])
    .default("429")
    .describe("The status of a denial. Use 403 with nginx, whose auth_request treats 429 as a failure"),
  from: z
    .enum(["headgate", "forwarded"])
    .optional()
    .describe(
      "Which headers describe the request. With forwarded, only X-Forwarded-* are read, and a client's X-Headgate-* have no effect. Default: forwarded if there is an X-Forwarded-Uri and no X-Headgate-Identifier, otherwise headgate",
    ),
  dimension: z
    .preprocess(dimensionOf, z.enum(DIMENSIONS).optional())
    .describe("With X-Forwarded-*. Default: ip; user with identifier_header"),
  identifier_header: z
    .string()
    .regex(/^[\w-]{1,128}$/, { error: "must be the name of a header" })
    .optional()
    .describe("With X-Forwarded-*: the header with the identifier, which the proxy must set. Default: X-Forwarded-For"),
  hops: z
    .string()
    .regex(/^\d{1,2}$/, { error: `must be a number from 0 to ${MOST_HOPS}` })
    .transform(Number)
    .refine((hops) => hops <= MOST_HOPS, { error: `must be a number from 0 to ${MOST_HOPS}` })
    .default(0)
    .describe("With X-Forwarded-*: how many trusted proxies are in front of the one that asks"),
});

type AuthHeaders = z.output<typeof authHeaders>;
type AuthQuery = z.output<typeof authQuery>;

/** A check without bodies, for proxies that send a subrequest for each request. */
export function authRoutes(app: App, { service, selfLimits }: WholeParts): void {
  const headers = new CheckHeaders();

  app.get(
    "/auth",
    {
      config: { acceptsKeyHeader: true },
      preValidation: async (request) => requireToldOnce(request, TOLD),
      schema: {
        tags: ["checks"],
        summary: "Check a request from a proxy such as nginx, Traefik or Caddy, by headers and status",
        querystring: authQuery,
        headers: authHeaders,
        response: { 204: z.undefined().describe("The request is allowed"), ...problems("reduced_capacity") },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const check = isForwarded(request.headers, query)
        ? forwardedCheck(request, request.headers, query)
        : checkOf(request.headers);
      requireRoom(selfLimits, weightOf(check.endpoint), reply);
      const result: CheckResult = await service.check(check);
      sendHeaders(reply, headers.write(result));
      if (result.allowed) {
        reply.code(204);
        return;
      }
      const code = denialCode(result);
      reply.header("headgate-denied", String(PROBLEMS[code].status));
      const status = query.denied === "403" ? { status: 403 } : {};
      throw new Problem(code, undefined, { ...status, "violated-policies": deniedBy(result) });
    },
  );
}

function isForwarded(headers: AuthHeaders, { from }: AuthQuery): boolean {
  if (from !== undefined) return from === "forwarded";
  return headers["x-headgate-identifier"] === undefined && headers["x-forwarded-uri"] !== undefined;
}

/**
 * The check in the headers that the nginx configuration in the docs sends. Idempotency keys are ignored: a client
 * could repeat a request for free.
 */
function checkOf(headers: AuthHeaders): CheckRequest {
  const identifier = headers["x-headgate-identifier"];
  if (identifier === undefined) {
    throw fieldProblem("header", "X-Headgate-Identifier", "is required: the user, address or API key of the request");
  }
  const endpoint = headers["x-headgate-endpoint"] ?? headers["x-original-uri"];
  if (endpoint === undefined) {
    throw fieldProblem("header", "X-Headgate-Endpoint", "is required, or X-Original-URI: the path of the request");
  }
  return {
    identifier,
    dimension: headers["x-headgate-dimension"],
    endpoint,
    method: methodIn(headers),
    cost: headers["x-headgate-cost"],
  };
}

/** As Traefik and Caddy state a request. They pass on every header of the client, so others than theirs are ignored. */
function forwardedCheck(request: FastifyRequest, headers: AuthHeaders, query: AuthQuery): CheckRequest {
  const { identifier_header: name, hops } = query;
  const endpoint = headers["x-forwarded-uri"];
  if (endpoint === undefined) {
    throw fieldProblem("header", "X-Forwarded-Uri", "is required: the path of the request, set by the proxy");
  }
  const method = headers["x-forwarded-method"];
  if (name === undefined) {
    const identifier = addressIn(headers["x-forwarded-for"], hops);
    return { identifier, dimension: query.dimension ?? "ip", endpoint, method, cost: 1 };
  }
  requireToldOnce(request, [name]);
  const identifier = request.headers[name.toLowerCase()];
  if (typeof identifier !== "string" || identifier === "") {
    throw fieldProblem("header", name, "is required: identifier_header names it, and the proxy must set it");
  }
  return { identifier, dimension: query.dimension ?? "user", endpoint, method, cost: 1 };
}

/** Counted from the right: each proxy adds the address that it was asked from, and clients can add any to the left. */
function addressIn(addresses: string | undefined, hops: number): string {
  const address = addresses
    ?.split(",")
    .at(-1 - hops)
    ?.trim();
  if (address === undefined || address === "") {
    const problem = hops === 0 ? "is required: the address of the client, set by the proxy" : "has too few addresses";
    throw fieldProblem("header", "X-Forwarded-For", problem);
  }
  return address;
}

/**
 * All headers for the method must agree, so that clients cannot replace the method that the proxy sets in one of them.
 */
function methodIn(headers: AuthHeaders): string | undefined {
  const methods = METHOD_HEADERS.flatMap((name) => headers[name]?.toUpperCase() ?? []);
  if (new Set(methods).size > 1) {
    const problem = "differs from another header for the method: set one in the proxy, and remove the others";
    throw fieldProblem("header", "X-Headgate-Method", problem);
  }
  return methods[0];
}
