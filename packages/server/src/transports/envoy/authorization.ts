import { PROBLEM_TYPE } from "headgate/http";
import type { CheckRequest, CheckResult, CheckService } from "../../checks/check.ts";
import { RequestError } from "../../checks/request-error.ts";
import { DIMENSIONS, type Dimension, dimensionOf } from "../../rules/rule.ts";
import { denialCode, deniedBy } from "../rest/check-answer.ts";
import { CheckHeaders } from "../rest/check-headers.ts";
import { PROBLEMS, problemBody } from "../rest/problem.ts";
import type { AuthorizationAnswer, AuthorizationRequest } from "./ext-authz-codec.ts";

/** The names that a route's `context_extensions` can have. */
const DIMENSION = "dimension";
const IDENTIFIER_HEADER = "identifier_header";
const COST = "cost";

/** Decides requests of Envoy's ext_authz filter under the rules of the service. */
export class Authorization {
  private readonly service: Pick<CheckService, "check">;
  private readonly headers = new CheckHeaders();

  constructor(service: Pick<CheckService, "check">) {
    this.service = service;
  }

  /** `answerWithinMs`: how long the caller waits. */
  async decide(request: AuthorizationRequest, answerWithinMs: number): Promise<AuthorizationAnswer> {
    const result: CheckResult = await this.service.check({ ...checkOf(request), answerWithinMs });
    const headers = this.headers.write(result).map(({ name, value }) => ({ name, value }));
    if (result.allowed) return { allowed: true, headers };
    const code = denialCode(result);
    return {
      allowed: false,
      status: PROBLEMS[code].status,
      headers: [...headers, { name: "content-type", value: PROBLEM_TYPE }],
      body: JSON.stringify(problemBody(code, undefined, { "violated-policies": deniedBy(result) })),
    };
  }
}

/**
 * The identity is the client's address, unless the route names a header that has it. A request without that header is
 * counted by its address, too.
 */
function checkOf({ method, path, address, headers, extensions }: AuthorizationRequest): CheckRequest {
  const dimension = readDimension(extensions.get(DIMENSION));
  const header = extensions.get(IDENTIFIER_HEADER);
  if (dimension !== "ip" && header === undefined) {
    throw new RequestError(`context_extensions.${IDENTIFIER_HEADER}`, `is required for the dimension ${dimension}`);
  }
  const identifier = header === undefined ? undefined : headers.get(header.toLowerCase());
  const cost = Number(extensions.get(COST) ?? 1);
  const identity = identifier ? { identifier, dimension } : { identifier: address, dimension: "ip" as const };
  return { ...identity, endpoint: path, cost, ...(method !== "" && { method }) };
}

function readDimension(given: string | undefined): Dimension {
  const name = dimensionOf(given ?? "ip");
  const dimension = DIMENSIONS.find((known) => known === name);
  if (dimension === undefined) {
    throw new RequestError(`context_extensions.${DIMENSION}`, `must be one of ${DIMENSIONS.join(", ")}`);
  }
  return dimension;
}
