import { type CanActivate, type ExecutionContext, HttpException } from "@nestjs/common";
import { HeadgateError, shown } from "../../errors.ts";
import type { Limiter } from "../../limiter/limiter.ts";
import { after, type MaybePromise } from "../../limiter/maybe-promise.ts";
import type { Rules } from "../../limiter/rules.ts";
import type { Admission, Denied, Passed } from "../admission.ts";
import { RateLimitMiddleware } from "../middleware.ts";
import type { MiddlewareOptions } from "../middleware-options.ts";
import { besideBody } from "../shared/fetch-response.ts";
import { isAbandoned, reportEnd, setHeaders } from "../shared/node-response.ts";
import { RateLimitException } from "./denied-exception.ts";
import { adapterOf, type NestRequest, type NestResponse, rawOf } from "./nest-http.ts";

/** The rules of a guard. */
export type GuardRules<Request> = MiddlewareOptions<string, Request>["rules"];

/** Options of `@RateLimit`. */
export interface RateLimitOptions<Request = NestRequest> extends Omit<MiddlewareOptions<string, Request>, "rules"> {
  /**
   * Called for each denied request. It can throw an exception of its own, or send a response with the context, whose
   * status and headers except `Content-Type` are already set. Otherwise the default response is sent.
   */
  readonly onDenied?: ((denied: Denied, context: ExecutionContext) => unknown) | undefined;
}

/** A request that was admitted. */
export interface Limited {
  /** The result of the last guard. */
  rateLimit?: Passed;
}

/** The status that servers log for a client that has disconnected. */
const CLIENT_CLOSED_REQUEST = 499;

/** The middleware as a Nest guard. */
export class MiddlewareGuard<Request extends NestRequest> implements CanActivate {
  readonly #rateLimits: RateLimitMiddleware<Rules, Request>;
  readonly #onDenied: RateLimitOptions<Request>["onDenied"];

  constructor(limiter: Limiter, rules: GuardRules<Request>, options: RateLimitOptions<Request>) {
    this.#rateLimits = new RateLimitMiddleware(limiter, { ...options, rules }, adapterOf(options.proxies), [
      "onDenied",
    ]);
    this.#onDenied = options.onDenied;
  }

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    if (context.getType() !== "http") {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "RateLimit",
        `supports only HTTP requests, got ${shown(context.getType())}: call the limiter directly`,
      );
    }
    const http = context.switchToHttp();
    const request = http.getRequest<Request & Limited>();
    const response = rawOf(http.getResponse<NestResponse>());
    return after(this.#rateLimits.admit(request), (admission) => {
      // The client disconnected, or another handler, such as a timeout, has already responded.
      if (isAbandoned(response) || response.headersSent) return this.#abandon(admission);
      if (!admission.allowed) {
        response.statusCode = admission.status;
        // `Content-Type` is set with the body, which the program may replace.
        setHeaders(response, besideBody(admission));
        return this.#deny(admission, context);
      }
      setHeaders(response, admission.headers);
      request.rateLimit = admission;
      if (this.#rateLimits.watches) reportEnd(response, admission);
      return true;
    });
  }

  /** A guard can stop a request without a response only by throwing. The client is no longer waiting. */
  #abandon(admission: Admission): never {
    if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
    throw new HttpException("the client has disconnected", CLIENT_CLOSED_REQUEST);
  }

  #deny(denied: Denied, context: ExecutionContext): MaybePromise<never> {
    return after(this.#onDenied?.(denied, context), () => {
      throw new RateLimitException(denied);
    });
  }
}
