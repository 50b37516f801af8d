import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, Response } from "express";
import type { Limiter } from "../limiter/limiter.ts";
import { isPromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { type AddressOptions, clientAddressOf } from "./address/client-address.ts";
import type { Admission, Denied, Passed } from "./admission.ts";
import { connectionAdapter, expressAdapter } from "./express/express-adapter.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import { type MiddlewareOptions, type RulesOrOptions, requireMiddlewareOptions } from "./middleware-options.ts";
import { isAbandoned, reportEnd, setHeaders } from "./shared/node-response.ts";
import { errorOf } from "./thrown-error.ts";

export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (request: IncomingMessage, options?: AddressOptions) => string | undefined =
  clientAddressOf(({ proxies }) => (proxies === undefined ? expressAdapter : connectionAdapter));

declare global {
  namespace Express {
    interface Request {
      /** The result of the rate limit middleware; if there are several, of the last one. */
      rateLimit?: Passed;
    }
  }
}

/** Continues, or passes an error to the error handler. */
export type Next = (error?: unknown) => void;

/** Declares fewer properties than it gets, so that Express can still infer the route parameters of other handlers. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void;

/** Options that only the Express middleware has. */
interface Own<Req, Res> {
  /** Sends a response to a denied request. Status and headers except `Content-Type` are already set. */
  readonly onDenied?: ((denied: Denied, request: Req, response: Res, next: Next) => unknown) | undefined;
}

/** Options of `rateLimit` in Express. */
export type RateLimitOptions<
  Name extends string,
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
> = MiddlewareOptions<Name, Req> & Own<Req, Res>;

const OWN = ["onDenied"] as const;

/** Middleware for Express, Connect and plain `node:http` servers. */
export function rateLimit<
  R extends Rules,
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
>(limiter: Limiter<R> | MemoryLimiter<R>, given: RulesOrOptions<NoInfer<RuleName<R>>, Req, Own<Req, Res>>): Middleware {
  const options = requireMiddlewareOptions<RuleName<R>, Req, Own<Req, Res>>(given, OWN);
  const { onDenied } = options;
  const rateLimits = new RateLimitMiddleware<R, Req>(
    limiter,
    options,
    options.proxies === undefined ? expressAdapter : connectionAdapter,
    OWN,
  );

  const pass = (admission: Passed, request: Req, response: Res, next: Next): void => {
    (request as { rateLimit?: Passed }).rateLimit = admission;
    if (rateLimits.watches) reportEnd(response, admission);
    next();
  };

  const deny = (denied: Denied, request: Req, response: Res, next: Next): void => {
    response.statusCode = denied.status;
    if (onDenied === undefined) {
      response.end(denied.body);
      return;
    }
    response.removeHeader("Content-Type");
    try {
      const answered = onDenied(denied, request, response, next);
      if (isPromise(answered)) answered.then(undefined, (error: unknown) => next(errorOf(error)));
    } catch (error) {
      next(errorOf(error));
    }
  };

  const carryOut = (admission: Admission, request: Req, response: Res, next: Next): void => {
    setHeaders(response, admission.headers);
    if (admission.allowed) pass(admission, request, response, next);
    else deny(admission, request, response, next);
  };

  const middleware = (request: Req, response: Res, next: Next): void => {
    let admission: Admission | Promise<Admission>;
    try {
      admission = rateLimits.admit(request);
    } catch (error) {
      next(error);
      return;
    }
    if (!isPromise(admission)) {
      carryOut(admission, request, response, next);
      return;
    }
    admission.then((admission) => {
      // The client disconnected, or another handler, such as a timeout, has already responded.
      if (isAbandoned(response) || response.headersSent) {
        if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
      } else carryOut(admission, request, response, next);
    }, next);
  };
  return middleware as Middleware;
}
