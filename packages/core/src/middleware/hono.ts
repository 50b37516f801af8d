import type { Context, MiddlewareHandler } from "hono";
import type { Limiter } from "../limiter/limiter.ts";
import { isPromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Denied, Passed } from "./admission.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import { type MiddlewareOptions, type RulesOrOptions, requireMiddlewareOptions } from "./middleware-options.ts";
import type { RequestAdapter } from "./request-adapter.ts";
import { userId } from "./shared/authenticated-user.ts";
import { abandonedResponse, besideBody, headersOf, withHeaders } from "./shared/fetch-response.ts";
import { FetchEnd } from "./shared/fetch-response-end.ts";
import { platformPeer } from "./shared/platform.ts";

export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";
export { clientAddress } from "./hono/hono-client-address.ts";

declare module "hono" {
  interface ContextVariableMap {
    /** The result of the rate limit middleware; if there are several, of the last one. */
    rateLimit: Passed | undefined;
  }
}

/** Options that only the Hono middleware has. */
interface Own {
  /** The address of the peer of the connection. Default: as reported by Node, Bun, Deno or Cloudflare Workers. */
  readonly peer?: (c: Context) => string | null | undefined;
  /** Sends a response to a denied request. The status is set, and headers except `Content-Type` are added. */
  readonly onDenied?: ((denied: Denied, c: Context) => Response | Promise<Response>) | undefined;
}

/** Options of `rateLimit` in Hono. */
export type RateLimitOptions<Name extends string> = MiddlewareOptions<Name, Context> & Own;

const OWN = ["peer", "onDenied"] as const;

/** Middleware for Hono. Handlers find the result with `c.get("rateLimit")`. */
export function rateLimit<R extends Rules>(
  limiter: Limiter<R> | MemoryLimiter<R>,
  given: RulesOrOptions<NoInfer<RuleName<R>>, Context, Own>,
): MiddlewareHandler {
  const options = requireMiddlewareOptions<RuleName<R>, Context, Own>(given, OWN);
  const { peer = (c: Context) => platformPeer(c.req.raw, c.env), onDenied } = options;
  const adapter: RequestAdapter<Context> = {
    peer: (c) => peer(c) ?? undefined,
    header: (c, name) => c.req.header(name),
    user: (c) => userId(c.get("user")),
  };
  const rateLimits = new RateLimitMiddleware<R, Context>(limiter, options, adapter, OWN);

  const deny = async (denied: Denied, c: Context): Promise<Response> => {
    if (onDenied === undefined) return c.body(denied.body, denied.status, headersOf(denied));
    c.status(denied.status);
    return withHeaders(await onDenied(denied, c), besideBody(denied));
  };

  return async (c, next) => {
    const admitted = rateLimits.admit(c);
    // Deno aborts a signal only if it was read before the client disconnected.
    const signal = isPromise(admitted) ? c.req.raw.signal : undefined;
    const admission = isPromise(admitted) ? await admitted : admitted;
    if (signal?.aborted) {
      if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
      return abandonedResponse();
    }
    if (!admission.allowed) return deny(admission, c);
    c.set("rateLimit", admission);
    const end = rateLimits.watches ? new FetchEnd(c.req.raw, admission) : undefined;
    try {
      await next();
    } catch (error) {
      // Hono turns errors into responses; other thrown values propagate.
      end?.fail();
      throw error;
    }
    const complete = withHeaders(c.res, admission.headers);
    const response = end === undefined ? complete : end.follow(complete);
    if (response !== c.res) c.res = response;
    return undefined;
  };
}
