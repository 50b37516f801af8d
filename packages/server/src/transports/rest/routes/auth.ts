import { z } from "zod";
import type { CheckRequest, CheckResult } from "../../../checks/check.ts";
import type { App } from "../app.ts";
import { requireRoom } from "../authorize.ts";
import { denialCode, violatedIn } from "../check-answer.ts";
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
  "x-original-uri": checkBody.shape.endpoint.optional().describe("Taken where there is no X-Headgate-Endpoint"),
  "x-headgate-cost": costText.default(1),
});

/** What a proxy tells, and no client may. */
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
    .describe("The status of a denial. nginx's auth_request understands 403, and takes 429 for a failure"),
});

/** For proxies that ask about each request with a request of its own: a check without bodies. */
export function authRoutes(app: App, { service, selfLimits }: WholeParts): void {
  const headers = new CheckHeaders();

  app.get(
    "/auth",
    {
      preValidation: async (request) => requireToldOnce(request, TOLD),
      schema: {
        tags: ["checks"],
        summary: "A check for proxies such as nginx: asks in headers, answers by status",
        querystring: authQuery,
        headers: authHeaders,
        response: { 204: z.undefined().describe("May pass"), ...problems("reduced_capacity") },
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
      throw new Problem(code, undefined, { ...status, "violated-policies": violatedIn(result) });
    },
  );
}

/** A proxy may pass on what its client sent: an idempotency key would let that client pass again and again for one charge. */
function checkOf(headers: z.output<typeof authHeaders>): CheckRequest {
  const endpoint = headers["x-headgate-endpoint"] ?? headers["x-original-uri"];
  if (endpoint === undefined) {
    throw fieldProblem("header", "X-Headgate-Endpoint", "must be given, or X-Original-URI: the path that is asked for");
  }
  return {
    identifier: headers["x-headgate-identifier"],
    dimension: headers["x-headgate-dimension"],
    endpoint,
    cost: headers["x-headgate-cost"],
  };
}
