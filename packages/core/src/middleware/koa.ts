import type { Context, Next } from "koa";
import type { Limiter } from "../limiter/limiter.ts";
import { isPromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { type AddressOptions, clientAddressOf } from "./address/client-address.ts";
import type { Denied, Passed } from "./admission.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import { type MiddlewareOptions, type RulesOrOptions, requireMiddlewareOptions } from "./middleware-options.ts";
import type { RequestAdapter } from "./request-adapter.ts";
import { userId } from "./shared/authenticated-user.ts";
import { isAbandoned, reportEnd, setHeaders } from "./shared/node-response.ts";

export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";

declare module "koa" {
  interface DefaultState {
    /** The result of the rate limit middleware; if there are several, of the last one. */
    rateLimit?: Passed;
  }
}

/** Options that only the Koa middleware has. */
interface Own {
  /** Sends a response to a denied request. Status and headers except `Content-Type` are already set. */
  readonly onDenied?: ((denied: Denied, ctx: Context, next: Next) => unknown) | undefined;
}

/** Options of `rateLimit` in Koa. */
export type RateLimitOptions<Name extends string> = MiddlewareOptions<Name, Context> & Own;

const OWN = ["onDenied"] as const;

/**
 * Uses the connection and ignores Koa's `app.proxy`: unless `maxIpsCount` is right, `ctx.ip` is whatever the client
 * sent.
 */
const adapter: RequestAdapter<Context> = {
  peer: ({ req }) => req.socket.remoteAddress,
  header(ctx, name) {
    const value = ctx.req.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  user: ({ state: { user } }) => userId(user),
};

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (ctx: Context, options?: AddressOptions) => string | undefined = clientAddressOf(
  () => adapter,
);

/** Middleware for Koa. Handlers find the result in `ctx.state.rateLimit`. */
export function rateLimit<R extends Rules>(
  limiter: Limiter<R> | MemoryLimiter<R>,
  given: RulesOrOptions<NoInfer<RuleName<R>>, Context, Own>,
): (ctx: Context, next: Next) => Promise<unknown> {
  const options = requireMiddlewareOptions<RuleName<R>, Context, Own>(given, OWN);
  const { onDenied } = options;
  const rateLimits = new RateLimitMiddleware<R, Context>(limiter, options, adapter, OWN);

  const pass = (admission: Passed, ctx: Context, next: Next): Promise<unknown> => {
    ctx.state.rateLimit = admission;
    if (rateLimits.watches) reportEnd(ctx.res, admission);
    return next();
  };

  const deny = async (denied: Denied, ctx: Context, next: Next): Promise<void> => {
    ctx.status = denied.status;
    if (onDenied === undefined) {
      ctx.body = denied.body;
      return;
    }
    ctx.remove("Content-Type");
    await onDenied(denied, ctx, next);
  };

  return async (ctx, next) => {
    const admitted = rateLimits.admit(ctx);
    const admission = isPromise(admitted) ? await admitted : admitted;
    if (isAbandoned(ctx.res)) {
      if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
      return;
    }
    setHeaders(ctx.res, admission.headers);
    await (admission.allowed ? pass(admission, ctx, next) : deny(admission, ctx, next));
  };
}
