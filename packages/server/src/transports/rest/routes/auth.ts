import { z } from "zod";
import type { CheckRequest, CheckResult } from "../../../checks/check.ts";
import type { App } from "../app.ts";
import { requireRoom } from "../authorize.ts";
import { denialCode, deniedBy } from "../check-answer.ts";
import { CheckHeaders } from "../check-headers.ts";
import { fieldProblem, PROBLEMS, Problem } from "../problem.ts";
import { sendHeaders } from "../reply.ts";
import { requireToldOnce } from "../request-headers.ts";
import type { WholeParts } from "../rest-dependencies.ts";
import { checkBody, costText, problems } from "../schemas.ts";

const authHeaders = z.looseObject({
  "x-headgate-identifier": checkBody.shape.identifier,
  "x-headgate-dimension": checkBody.shape.dimension,
  "x-headgate-endpoint": checkBody.shape.endpoint.optional(),
  "x-original-uri": checkBody.shape.endpoint.optional().describe("Used if there is no X-Headgate-Endpoint"),
  "x-headgate-cost": costText.default(1),
});

/** Headers that the proxy sets and clients must not. */
const TOLD = [
  "X-Headgate-Identifier",
  "X-Headgate-Dimension",
  "X-Headgate-Endpoint",
  "X-Original-URI",
  "X-Headgate-Cost",
] as const;

const authQuery = z.strictObject({
  denied: z
    .enum(["429", "403"])
    .default("429")
    .describe("The status of a denial. Use 403 with nginx, whose auth_request treats 429 as a failure"),
});

/** A check without bodies, for proxies that send a subrequest for each request. */
export function authRoutes(app: App, { service, selfLimits }: WholeParts): void {
  const headers = new CheckHeaders();

  app.get(
    "/auth",
    {
      preValidation: async (request) => requireToldOnce(request, TOLD),
      schema: {
        tags: ["checks"],
        summary: "Check a request from a proxy such as nginx, by headers and status",
        querystring: authQuery,
        headers: authHeaders,
        response: { 204: z.undefined().describe("The request is allowed"), ...problems("reduced_capacity") },
      },
    },
    async (request, reply) => {
      const check = checkOf(request.headers);
      requireRoom(selfLimits, check.endpoint, reply);
      const result: CheckResult = await service.check(check);
      sendHeaders(reply, headers.write(result));
      if (result.allowed) {
        reply.code(204);
        return;
      }
      const code = denialCode(result);
      reply.header("headgate-denied", String(PROBLEMS[code].status));
      const status = request.query.denied === "403" ? { status: 403 } : {};
      throw new Problem(code, undefined, { ...status, "violated-policies": deniedBy(result) });
    },
  );
}

/** Ignores idempotency keys: a proxy might forward one from its client, who could then repeat a request for free. */
function checkOf(headers: z.output<typeof authHeaders>): CheckRequest {
  const endpoint = headers["x-headgate-endpoint"] ?? headers["x-original-uri"];
  if (endpoint === undefined) {
    throw fieldProblem("header", "X-Headgate-Endpoint", "is required, or X-Original-URI: the path of the request");
  }
  return {
    identifier: headers["x-headgate-identifier"],
    dimension: headers["x-headgate-dimension"],
    endpoint,
    cost: headers["x-headgate-cost"],
  };
}
