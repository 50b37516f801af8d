import type { FastifyPluginCallback, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import type { Limiter } from "../limiter/limiter.ts";
import { isPromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { type AddressOptions, clientAddressOf } from "./address/client-address.ts";
import type { Admission, Denied, Passed } from "./admission.ts";
import { connectionAdapter, fastifyAdapter } from "./fastify/fastify-adapter.ts";
import type { HeaderField } from "./headers/response-headers.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import { type MiddlewareOptions, type RulesOrOptions, requireMiddlewareOptions } from "./middleware-options.ts";
import { isAbandoned, reportEnd } from "./shared/node-response.ts";
import { errorOf } from "./thrown-error.ts";

export type { AddressOptions } from "./address/client-address.ts";
export type { Denied, Passed } from "./admission.ts";

/**
 * The client's address as a key: an IPv4 address, or the network of an IPv6 address (`2001:db8:1:2::/64`). `undefined`
 * if it is unknown. Takes the address options of `rateLimit`; pass the same object to each call.
 */
export const clientAddress: (request: FastifyRequest, options?: AddressOptions) => string | undefined = clientAddressOf(
  ({ proxies }) => (proxies === undefined ? fastifyAdapter : connectionAdapter),
);

declare module "fastify" {
  interface FastifyRequest {
    /** The result of the rate limit hook; if there are several, of the last one. */
    rateLimit?: Passed;
  }
}

/** Options that only the Fastify plugin has. */
interface Own {
  /**
   * Sends a response to a denied request. Sends the reply, or returns the payload. Status and headers except `Content-
   * Type` are already set.
   */
  readonly onDenied?: ((denied: Denied, request: FastifyRequest, reply: FastifyReply) => unknown) | undefined;
}

/** Options of `rateLimit` and `rateLimitPlugin` in Fastify. */
export type RateLimitOptions<Name extends string> = MiddlewareOptions<Name, FastifyRequest> & Own;

/** A hook for `onRequest` or, if the body is needed, `preHandler`. */
export type RateLimitHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

const OWN = ["onDenied"] as const;

/** A plugin that limits all routes of the instance and of nested instances, and requests that match no route. */
export function rateLimitPlugin<R extends Rules>(
  limiter: Limiter<R> | MemoryLimiter<R>,
  given: RulesOrOptions<NoInfer<RuleName<R>>, FastifyRequest, Own>,
): FastifyPluginCallback {
  const hook = rateLimit(limiter, given);
  const plugin: FastifyPluginCallback = (instance, _options, done) => {
    instance.addHook("onRequest", hook);
    done();
  };
  return Object.assign(plugin, OF_THE_PARENT);
}

/** The effect of fastify-plugin: without it, hooks would apply inside the plugin only. */
const OF_THE_PARENT = { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "headgate" };

/** A hook for one route, `{ onRequest: rateLimit(limiter, "login") }`, or with `addHook` for several. */
export function rateLimit<R extends Rules>(
  limiter: Limiter<R> | MemoryLimiter<R>,
  given: RulesOrOptions<NoInfer<RuleName<R>>, FastifyRequest, Own>,
): RateLimitHook {
  const options = requireMiddlewareOptions<RuleName<R>, FastifyRequest, Own>(given, OWN);
  const { onDenied } = options;
  const adapter = options.proxies === undefined ? fastifyAdapter : connectionAdapter;
  const rateLimits = new RateLimitMiddleware<R, FastifyRequest>(limiter, options, adapter, OWN);

  const pass = (
    admission: Passed,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void => {
    request.rateLimit = admission;
    if (rateLimits.watches) reportEnd(reply.raw, admission);
    done();
  };

  const deny = (denied: Denied, request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    reply.code(denied.status);
    if (onDenied === undefined) {
      reply.send(denied.body);
      return;
    }
    reply.removeHeader("Content-Type");
    const send = (answer: unknown): void => {
      if (answer !== undefined && !reply.sent) reply.send(answer);
    };
    const fail = (reason: unknown): void => {
      // Otherwise Fastify would keep the status of the denial.
      reply.code(500);
      done(errorOf(reason));
    };
    try {
      const answer = onDenied(denied, request, reply);
      if (isPromise(answer)) answer.then(send, fail);
      else send(answer);
    } catch (error) {
      fail(error);
    }
  };

  const carryOut = (
    admission: Admission,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void => {
    setHeaders(reply, admission.headers);
    if (admission.allowed) pass(admission, request, reply, done);
    else deny(admission, request, reply, done);
  };

  return (request, reply, done) => {
    // Fastify handles errors that a hook throws.
    const admission = rateLimits.admit(request);
    if (!isPromise(admission)) {
      carryOut(admission, request, reply, done);
      return;
    }
    admission.then((admission) => {
      // The client disconnected, or another handler, such as a timeout, has already responded.
      if (isAbandoned(reply.raw) || reply.sent) {
        if (admission.allowed) void admission.ended({ status: undefined, aborted: true });
      } else carryOut(admission, request, reply, done);
    }, done);
  };
}

function setHeaders(reply: FastifyReply, fields: readonly HeaderField[]): void {
  for (const { name, value, list } of fields) {
    const key = asFastifyKeeps(name);
    const before = list && reply.getHeader(key);
    reply.header(key, before === undefined ? value : `${before}, ${value}`);
  }
}

const kept = new Map<string, string>();

/** Fastify stores names in lower case. Converting them for each response would cost more than the decision. */
function asFastifyKeeps(name: string): string {
  let key = kept.get(name);
  if (key === undefined) {
    key = name.toLowerCase();
    kept.set(name, key);
  }
  return key;
}
