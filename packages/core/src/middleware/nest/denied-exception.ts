import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from "@nestjs/common";
import type { Denied } from "../admission.ts";
import { PROBLEM_TYPE } from "../headers/problem-details.ts";
import { end, type NestResponse, rawOf } from "./nest-http.ts";

/**
 * Thrown for a denied request. Status and headers of the response are already set; the body is the problem document.
 */
export class RateLimitException extends HttpException {
  readonly denied: Denied;

  constructor(denied: Denied) {
    super(JSON.parse(denied.body), denied.status);
    this.denied = denied;
  }
}

/** Responds with `application/problem+json`; by default Nest would send `application/json`. */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch({ denied }: RateLimitException, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<NestResponse>();
    // `onDenied` may have responded already.
    if (rawOf(response).headersSent) return;
    rawOf(response).setHeader("Content-Type", PROBLEM_TYPE);
    end(response, denied.body);
  }
}

Catch(RateLimitException)(RateLimitFilter);
