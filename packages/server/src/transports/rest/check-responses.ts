import type { ServerResponse } from "node:http";
import type { CheckResult } from "../../checks/check.ts";
import { answerText, denialCode, denialText } from "./check-answer.ts";
import { CheckHeaders } from "./check-headers.ts";
import { PROBLEM_TYPE, PROBLEMS } from "./problem.ts";
import { writeText } from "./reply.ts";
import type { Calls } from "./request-metrics.ts";

const CHECK = "/api/v1/check";

/** Complete header values, so that nothing is concatenated per response. */
const JSON_TYPE = "application/json; charset=utf-8";
const DENIAL_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;

/** Writes the responses to checks, and counts them. */
export class CheckResponses {
  private readonly calls: Calls;
  private readonly headers = new CheckHeaders();

  constructor(calls: Calls) {
    this.calls = calls;
  }

  write(response: ServerResponse, result: CheckResult, withLimits: boolean, arrivedAt: number): void {
    const fields = this.headers.write(result);
    const status = result.allowed ? 200 : PROBLEMS[denialCode(result)].status;
    if (result.allowed) writeText(response, status, JSON_TYPE, fields, answerText(result, withLimits));
    else writeText(response, status, DENIAL_TYPE, fields, denialText(result, withLimits));
    this.calls.ended(CHECK, arrivedAt, status);
  }
}
