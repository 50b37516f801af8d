import type { Limiter } from "../limiter/limiter.ts";
import { isPromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Denied, Passed } from "./admission.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import { type MiddlewareOptions, type RulesOrOptions, requireMiddlewareOptions } from "./middleware-options.ts";
import type { RequestAdapter } from "./request-adapter.ts";
import { abandonedResponse, besideBody, headersOf, withHeaders } from "./shared/fetch-response.ts";
import { FetchEnd } from "./shared/fetch-response-end.ts";
import { platformPeer } from "./shared/platform.ts";
import { platforms } from "./web/web-client-address.ts";

export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";
export { clientAddress } from "./web/web-client-address.ts";

/**
 * Options that only the Request/Response middleware has. The arguments after the request are those that the platform
 * passes to handlers, such as Bun's server. Their type is `never`, so that functions can declare the actual type.
 */
interface Own<Req extends Request> {
  /**
   * Returns the address of the peer of the connection. Default: as reported by Bun, Deno, Cloudflare Workers or
   * `@hono/node-server`.
   */
  readonly peer?: (request: Req, ...platform: never[]) => string | null | undefined;
  /** Returns the response to a denied request. Headers except `Content-Type` are added. */
  readonly onDenied?:
    | ((denied: Denied, request: Req, ...platform: never[]) => Response | Promise<Response>)
    | undefined;
}

/** Options of `rateLimit` for Request/Response handlers. */
export type RateLimitOptions<Name extends string, Req extends Request = Request> = MiddlewareOptions<Name, Req> &
  Own<Req>;

/** Limits a handler, which receives the result of the check as its second argument. */
export type Limit<Req extends Request> = <Incoming extends Req, Platform extends readonly unknown[]>(
  handler: (request: Incoming, admission: Passed, ...platform: Platform) => Response | Promise<Response>,
) => (request: Incoming, ...platform: Platform) => Promise<Response>;

const OWN = ["peer", "onDenied"] as const;

/** Limits handlers that take a `Request` and return a `Response`: `rateLimit(limiter, "api")(handler)`. */
export function rateLimit<R extends Rules, Req extends Request = Request>(
  limiter: Limiter<R> | MemoryLimiter<R>,
  given: RulesOrOptions<NoInfer<RuleName<R>>, Req, Own<Req>>,
): Limit<Req> {
  const options = requireMiddlewareOptions<RuleName<R>, Req, Own<Req>>(given, OWN);
  const { peer, onDenied } = options;
  const adapter: RequestAdapter<Req> = {
    peer(request) {
      const platform = platforms.get(request) ?? [];
      if (peer === undefined) return platformPeer(request, platform[0]);
      return peer(request, ...(platform as never[])) ?? undefined;
    },
    header: ({ headers }, name) => headers.get(name) ?? undefined,
  };
  const rateLimits = new RateLimitMiddleware<R, Req>(limiter, options, adapter, OWN);

  const deny = async (denied: Denied, request: Req, platform: readonly unknown[]): Promise<Response> => {
    if (onDenied === undefined) {
      return new Response(denied.body, { status: denied.status, headers: headersOf(denied) });
    }
    return withHeaders(await onDenied(denied, request, ...(platform as never[])), besideBody(denied));
  };

  return (handler) =>
    async (request, ...platform) => {
      platforms.set(request, platform);
      const admitted = rateLimits.admit(request);
      // Deno aborts a signal only if it was read before the client disconnected.
      const signal = isPromise(admitted) ? request.signal : undefined;
      const admission = isPromise(admitted) ? await admitted : admitted;
      if (signal?.aborted) {
        if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
        return abandonedResponse();
      }
      if (!admission.allowed) return deny(admission, request, platform);
      const end = rateLimits.watches ? new FetchEnd(request, admission) : undefined;
      try {
        const response = withHeaders(await handler(request, admission, ...platform), admission.headers);
        return end === undefined ? response : end.follow(response);
      } catch (error) {
        end?.fail();
        throw error;
      }
    };
}
